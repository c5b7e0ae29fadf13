//! `callonce doctor`: each thing that can be wrong is made wrong, and has to be told; a look changes nothing.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use callonce::domain::id::{IdemKey, ToolName};
use callonce::domain::json;
use callonce::domain::time::Timestamp;
use callonce::engine::clock::Clock;
use callonce::engine::tools::Registry;
use callonce::engine::{Engine, Settings, Submission};
use callonce::store::sqlite::{Options, SqliteStore};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::SmallDisk;
use crate::harness::{CHARGE, Done, Home, PROGRAM, until};

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// What comes after the name of the program: a look at this database.
fn args(database: &Path) -> [&str; 3] {
    ["doctor", "--db", database.to_str().expect("a temporary folder has a plain name")]
}

fn doctor(database: &Path) -> Done {
    doctor_with(database, &[])
}

fn doctor_with(database: &Path, more: &[&str]) -> Done {
    run(Command::new(PROGRAM).args(args(database)).args(more))
}

/// In an environment that asks for JSON and, if nothing else is said, for a port that is free.
fn run(command: &mut Command) -> Done {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path);
    command.env("CALLONCE_OUTPUT", "json").env("CALLONCE_LISTEN", "127.0.0.1:0");
    Done::of(command.output().expect("the program runs"))
}

/// What one check says.
fn check(done: &Done, name: &str) -> Value {
    let told = done.json();
    let checks = told["checks"].as_array().expect("a list");
    let found = checks.iter().find(|check| check["check"] == name);
    found.unwrap_or_else(|| panic!("no check `{name}` in {done:?}")).clone()
}

/// Every check says how it is and what was found; one that is not ok says what to do, too.
fn is_complete(done: &Done) {
    let told = done.json();
    let checks = told["checks"].as_array().expect("a list");
    let mut problems = 0;
    for check in checks {
        let text = |member: &str| check[member].as_str().is_some_and(|text| !text.is_empty());
        let state = check["state"].as_str().expect("a text");
        assert!(text("check") && text("found"), "{check}");
        assert!(["ok", "warning", "problem"].contains(&state), "{check}");
        assert_eq!(text("to_do"), state != "ok", "{check}");
        problems += usize::from(state == "problem");
    }
    assert_eq!(
        (told["problems"].as_u64(), told["ok"].as_bool()),
        (Some(problems as u64), Some(problems == 0))
    );
    assert_eq!(done.code == Some(0), problems == 0, "{done:?}");
    assert_eq!(done.stderr.is_empty(), problems == 0, "{done:?}");
}

/// Told as a problem by this check, and by stderr and the exit code if it is the first.
#[track_caller]
fn problem(done: &Done, name: &str, code: i32, says: &str) {
    is_complete(done);
    let check = check(done, name);
    assert_eq!((done.code, check["state"].as_str()), (Some(code), Some("problem")), "{done:?}");
    assert!(check["found"].as_str().is_some_and(|found| found.contains(says)), "no `{says}` in {check}");
}

/// Names and contents of everything in a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries =
        std::fs::read_dir(folder).expect("it can be listed").map(|entry| entry.expect("it can be listed"));
    let mut all: Vec<_> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())))
        .map(|(name, bytes)| (name, bytes.expect("it can be read")))
        .collect();
    all.sort();
    all
}

/// A database with one call in it, and no server.
fn stopped() -> Home {
    let home = Home::new();
    let server = home.serve();
    server.client().settle("k", CHARGE);
    assert_eq!(server.stop().code, Some(0));
    home
}

#[test]
fn where_there_is_nothing_yet_the_place_is_looked_at_and_left_empty() {
    let home = Home::new();
    let done = doctor(&home.database());
    is_complete(&done);
    assert_eq!(done.code, Some(0), "{done:?}");
    let names: Vec<_> =
        done.json()["checks"].as_array().expect("a list").iter().map(|c| c["check"].clone()).collect();
    assert_eq!(
        names,
        [
            "SQLite version",
            "file system",
            "permissions",
            "free space",
            "lock",
            "database",
            "head file",
            "fsync latency",
            "clock",
            "port",
            "open files",
            "memory"
        ]
    );
    assert!(check(&done, "database")["found"].as_str().is_some_and(|found| found.contains("there is none")));
    let figures = check(&done, "fsync latency")["figures"].clone();
    for (row, (bytes, blocks)) in
        [(4120, "appended"), (4120, "overwritten"), (16480, "appended"), (16480, "overwritten")]
            .iter()
            .enumerate()
    {
        assert_eq!(
            (&figures[row]["bytes"], &figures[row]["blocks"]),
            (&Value::from(*bytes), &Value::from(*blocks))
        );
        let number = |name: &str| figures[row][name].as_u64().expect("a number");
        assert!(number("count") > 0 && number("p50_us") > 0, "{figures}");
        assert!(number("p50_us") <= number("p99_us") && number("p99_us") <= number("max_us"), "{figures}");
    }
    assert_eq!(contents(home.folder()), [], "nothing is made");
}

#[test]
fn a_sound_database_is_well_and_left_as_it_is() {
    let home = stopped();
    let before = contents(home.folder());
    let done = doctor(&home.database());
    is_complete(&done);
    assert_eq!(done.code, Some(0), "{done:?}");
    for (name, says) in [
        ("lock", "no server has the database"),
        ("database", "has the schema of this program"),
        ("head file", "position 3"),
        ("clock", "after the last event"),
        ("SQLite version", "3."),
    ] {
        let check = check(&done, name);
        assert_eq!(check["state"], "ok", "{check}");
        assert!(check["found"].as_str().is_some_and(|found| found.contains(says)), "no `{says}` in {check}");
    }
    // To read, SQLite may make an empty WAL and its index.
    let after = contents(home.folder()).into_iter().filter(|(name, bytes)| {
        let is_index = name.ends_with("-shm");
        let is_empty_wal = name.ends_with("-wal") && bytes.is_empty();
        !is_index && !is_empty_wal
    });
    assert_eq!(after.collect::<Vec<_>>(), before);
    assert_eq!(home.serve().client().by_key("k").text("status"), "succeeded");
}

#[test]
fn beside_a_running_server_it_says_whose_the_database_is_and_disturbs_nothing() {
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    client.settle("before", CHARGE);
    let stats = client.stats();
    let done = doctor_with(&home.database(), &["--listen", &server.address.to_string()]);
    is_complete(&done);
    assert_eq!(done.code, Some(0), "{done:?}");
    let pid = format!("process {},", server.pid());
    assert!(check(&done, "lock")["found"].as_str().is_some_and(|found| found.contains(&pid)), "{done:?}");
    let port = check(&done, "port");
    assert_eq!(port["state"], "ok", "{port}");
    assert!(
        port["found"]
            .as_str()
            .is_some_and(|found| found.contains("the server that has the database listens"))
    );
    assert_eq!(client.stats(), stats);
    assert_eq!(client.settle("after", CHARGE).text("status"), "succeeded");
    assert_eq!(server.stop().code, Some(0));
    home.db().keeps_the_laws();
    assert!(!is_measuring(home.folder()));
}

#[test]
fn a_log_that_may_be_shorter_than_it_was_is_a_problem() {
    let home = stopped();
    let copy = std::fs::read(home.database()).expect("it can be read");
    let head = std::fs::read(home.beside("-head")).expect("it can be read");
    std::fs::remove_file(home.beside("-head")).expect("it is there");
    problem(&doctor(&home.database()), "head file", 74, "head file is missing");
    std::fs::write(home.beside("-head"), [0; 8192]).expect("it can be written");
    problem(&doctor(&home.database()), "head file", 74, "is damaged");
    std::fs::write(home.beside("-head"), head).expect("it can be written");
    assert_eq!(doctor(&home.database()).code, Some(0));

    let server = home.serve();
    server.client().settle("later", CHARGE);
    assert_eq!(server.stop().code, Some(0));
    std::fs::write(home.database(), copy).expect("it can be written");
    problem(&doctor(&home.database()), "head file", 74, "3 events are missing");
    std::fs::remove_file(home.database()).expect("it is there");
    let done = doctor(&home.database());
    problem(&done, "head file", 74, "6 events are missing");
    assert!(
        check(&done, "head file")["to_do"].as_str().is_some_and(|to_do| to_do.contains("--accept-data-loss"))
    );
    assert!(!home.database().exists());
}

#[test]
fn a_file_of_another_program_is_a_problem() {
    let write = |home: &Home, sql: &str| {
        let db = rusqlite::Connection::open(home.database()).expect("the database opens");
        db.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    };
    let (newer, another, text, lacking) = (stopped(), Home::new(), Home::new(), stopped());
    write(&newer, "PRAGMA user_version = 99");
    write(&another, "CREATE TABLE calls (anything)");
    std::fs::write(text.database(), "not a database at all\n".repeat(500)).expect("it can be written");
    write(&lacking, "DROP INDEX idx_calls_ready");
    for (home, code, says, to_do) in [
        (newer, 78, "a newer callonce made it (schema 99", "use the newer program"),
        (another, 78, "not one of callonce", "name another file"),
        (text, 74, "not a database of SQLite", "name another file"),
        (lacking, 78, "its index idx_calls_ready is missing", "`callonce rebuild` puts it right"),
    ] {
        let bytes = std::fs::read(home.database()).expect("it can be read");
        let done = doctor(&home.database());
        problem(&done, "database", code, says);
        assert!(
            check(&done, "database")["to_do"].as_str().is_some_and(|told| told.contains(to_do)),
            "{done:?}"
        );
        assert!(std::fs::read(home.database()).expect("it can be read") == bytes, "changed: {says}");
        // The verdict of a start is the same.
        assert_eq!(home.start().end().code, Some(code), "{says}");
    }
}

#[test]
fn a_port_that_somebody_has_is_a_problem() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    let done = doctor_with(&home.database(), &["--listen", &address]);
    problem(&done, "port", 78, &format!("in use by process {} (", std::process::id()));
    drop(taken);
    assert_eq!(check(&doctor_with(&home.database(), &["--listen", &address]), "port")["state"], "ok");
    let done = doctor_with(&home.database(), &["--listen", "192.0.2.1:8081"]);
    problem(&done, "port", 78, "cannot listen there");
    let open = check(&doctor_with(&home.database(), &["--listen", "0.0.0.0:0"]), "port");
    assert_eq!(open["state"], "warning", "{open}");
}

#[test]
fn a_folder_that_may_not_be_written_is_a_problem() {
    let home = stopped();
    let mode = |mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(home.folder(), permissions).expect("it is ours");
    };
    // The program may lie in a folder that others cannot enter.
    let everybody = tempfile::tempdir().expect("a temporary folder can be made");
    let program = everybody.path().join("callonce");
    let copied = Command::new("cp").arg(PROGRAM).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()), "the program can be copied");
    let as_nobody = || {
        let mut command = Command::new(&program);
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        run(command.args(args(&home.database())))
    };
    std::fs::set_permissions(everybody.path(), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    if rustix::process::geteuid().is_root() {
        chown(home.folder(), Some(NOBODY), Some(NOBODY)).expect("root may");
    }
    mode(0o555);
    problem(&as_nobody(), "permissions", 74, "may not make files in this folder");
    mode(0o755);
    if rustix::process::geteuid().is_root() {
        // The folder is right, and the file is root's.
        problem(&as_nobody(), "permissions", 74, "may not write it");
    }
    let nowhere = doctor(&home.folder().join("nowhere").join("calls.db"));
    problem(&nowhere, "database", 74, "No such file or directory");
    problem(&doctor(home.folder()), "database", 74, "not a file");
}

#[test]
fn a_full_disk_is_a_problem() {
    // No call is accepted before there is space to keep aside.
    let Some(tiny) = SmallDisk::mount(4) else { return };
    problem(&doctor(&tiny.folder().join("calls.db")), "free space", 74, "for some 0 calls");
    let Some(disk) = SmallDisk::mount(16) else { return };
    let database = disk.folder().join("calls.db");
    let done = doctor(&database);
    is_complete(&done);
    for (name, says) in [("file system", "tmpfs"), ("free space", "MiB are free")] {
        let check = check(&done, name);
        assert_eq!(check["state"], "warning", "{check}");
        assert!(check["found"].as_str().is_some_and(|found| found.contains(says)), "{check}");
    }
    let filler = disk.fill();
    let done = doctor(&database);
    problem(&done, "free space", 74, "0.0 KiB are free");
    problem(&done, "fsync latency", 74, "No space left");
    std::fs::remove_file(filler).expect("it is ours");
    assert_eq!(contents(disk.folder()), [], "what was written is put away");
}

#[test]
fn a_clock_behind_the_last_event_is_warned_of() {
    let home = Home::new();
    // In the year 2200, when this machine's clock will have been right for long.
    let clock = Clock::manual(Timestamp::from_micros(7_258_118_400_000_000));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    runtime.block_on(async {
        let store = SqliteStore::open(&home.database(), Options::default()).expect("a file of our own opens");
        let settings = Settings { clock, ..Settings::default() };
        let engine =
            Engine::new(store, Registry::samples(), settings, Arc::new(())).expect("the settings fit");
        let submission = Submission {
            key: IdemKey::parse("k").expect("a key"),
            tool: ToolName::parse("charge").expect("a name"),
            args: json::parse(br#"{"amount":1}"#).expect("an object"),
            client_id: None,
            seq: None,
            trace: None,
        };
        engine.submit(submission).await.expect("it is accepted");
        engine.stop(std::time::Duration::ZERO).await;
    });
    let done = doctor(&home.database());
    is_complete(&done);
    let clock = check(&done, "clock");
    assert_eq!((done.code, clock["state"].as_str()), (Some(0), Some("warning")), "{done:?}");
    assert!(
        clock["found"].as_str().is_some_and(|found| found.contains("the last event is from 2200")),
        "{clock}"
    );
}

#[test]
fn a_low_limit_of_open_files_is_warned_of() {
    let home = Home::new();
    let mut command = Command::new("sh");
    command.args(["-c", r#"ulimit -n 1000 && exec "$@""#, "sh", PROGRAM]).args(args(&home.database()));
    let done = run(&mut command);
    let files = check(&done, "open files");
    assert_eq!((done.code, files["state"].as_str()), (Some(0), Some("warning")), "{done:?}");
    assert!(files["found"].as_str().is_some_and(|found| found.contains("1000")), "{files}");
}

/// A look, where the kernel's answers to some system calls are others. Nothing, and a word about it, without strace.
fn tampered(inject: &str, program_args: &[&str]) -> Option<Command> {
    let calls = inject.split(':').next().unwrap_or_default();
    let mut command = Command::new("strace");
    command.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={calls}"),
        "-e",
        &format!("inject={inject}"),
    ]);
    let works = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        eprintln!("skipped: a process cannot be traced here");
        return None;
    }
    command.arg(PROGRAM).args(program_args);
    Some(command)
}

#[test]
fn a_network_file_system_is_a_problem() {
    let home = Home::new();
    // The first member of what statfs fills in is the kind: here that of NFS.
    let nfs = "statfs:poke_exit=@arg2=6969000000000000";
    let Some(mut look) = tampered(nfs, &args(&home.database())) else { return };
    let done = run(&mut look);
    problem(&done, "file system", 78, "network file system (NFS)");
    let database = home.database();
    let serve = ["serve", "--db", database.to_str().expect("a plain name")];
    let refused = tampered(nfs, &serve).map(|mut command| run(&mut command)).expect("strace is there");
    assert_eq!(refused.code, Some(78), "the verdict of a start is the same: {refused:?}");
    assert!(refused.stderr.contains("network file system (NFS)"), "{refused:?}");
    assert_eq!(contents(home.folder()), []);
}

#[test]
fn a_slow_disk_is_warned_of_and_a_failing_one_is_a_problem() {
    let home = Home::new();
    let Some(mut slow) = tampered("fdatasync:delay_exit=15000", &args(&home.database())) else { return };
    let done = run(&mut slow);
    is_complete(&done);
    let sync = check(&done, "fsync latency");
    assert_eq!((done.code, sync["state"].as_str()), (Some(0), Some("warning")), "{done:?}");
    assert!(sync["figures"][3]["p50_us"].as_u64().is_some_and(|micros| micros >= 15_000), "{sync}");
    let failing =
        tampered("fdatasync:error=EIO", &args(&home.database())).map(|mut command| run(&mut command));
    problem(&failing.expect("strace is there"), "fsync latency", 74, "cannot be made durable");
    assert_eq!(contents(home.folder()), [], "what was written is put away");
}

/// Whether there is a file that only a look writes.
fn is_measuring(folder: &Path) -> bool {
    let mut files = std::fs::read_dir(folder).expect("it can be listed");
    files.any(|file| file.expect("it can be listed").file_name().to_string_lossy().contains("-doctor-"))
}

#[test]
fn a_look_that_is_interrupted_puts_away_what_it_wrote() {
    let home = Home::new();
    let Some(mut slow) = tampered("fdatasync:delay_exit=50000", &args(&home.database())) else { return };
    let mut tracer =
        slow.stdout(Stdio::null()).env("CALLONCE_LISTEN", "127.0.0.1:0").spawn().expect("strace runs");
    until("the disk is measured", || is_measuring(home.folder()).then_some(()));
    let children = format!("/proc/{0}/task/{0}/children", tracer.id());
    let children = std::fs::read_to_string(children).expect("Linux tells it");
    let pid = children.split_whitespace().next().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    kill_process(pid.expect("strace runs one program"), Signal::TERM).expect("it is ours");
    assert_eq!(tracer.wait().expect("our own child").code(), Some(130));
    assert_eq!(contents(home.folder()), []);
}

#[test]
fn people_read_a_table_and_programs_a_line_a_check() {
    let home = Home::new();
    let table = doctor_with(&home.database(), &["--output", "table"]);
    assert_eq!(table.code, Some(0), "{table:?}");
    let lines: Vec<_> = table.stdout.lines().collect();
    assert!(lines[0].split_whitespace().eq(["check", "state", "found", "to_do"]), "{table:?}");
    assert!(lines[13].split_whitespace().eq(["bytes", "blocks", "count", "p50_us", "p99_us", "max_us"]));
    assert_eq!(lines.len(), 18, "{table:?}");
    let lines = doctor_with(&home.database(), &["--output", "ndjson"]).stdout;
    let states =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["state"].clone());
    assert_eq!(states.filter(Value::is_string).count(), 12);
}

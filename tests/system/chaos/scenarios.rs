//! Do the scenarios hold on the real server, do they turn red on a bad one, and do they leave nothing behind?

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{PROGRAM, callonce, callonce_with};

const NAMES: [&str; 6] = ["drop-response", "duplicate", "concurrent", "crash", "stall", "new-key"];

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).expect("it can be read").next().is_none()
}

/// The processes whose command line names this folder.
fn processes_in(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().expect("it is text");
    let processes = fs::read_dir("/proc").expect("there is a /proc").map_while(Result::ok);
    let command = |process: fs::DirEntry| fs::read(process.path().join("cmdline")).ok();
    let lines = processes.filter_map(command).map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(folder)).collect()
}

#[test]
fn every_scenario_holds_and_leaves_nothing_behind() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let env = [("TMPDIR", home.path().to_str().expect("it is text"))];
    let done = callonce_with(&env, &["chaos", "run", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let stories = done.json();
    let stories = stories.as_array().expect("one a scenario");
    let names: Vec<_> = stories.iter().map(|story| story["scenario"].as_str().expect("a name")).collect();
    assert_eq!(names, NAMES);
    for story in stories {
        let count = |member: &str| story[member].as_array().map_or(0, Vec::len);
        assert!(count("expected") >= 5 && count("events") >= 6 && count("tries") >= 4, "{story}");
        assert!(story["expected"].as_array().into_iter().flatten().all(|expected| expected["holds"] == true));
        assert_eq!((&story["holds"], count("broken")), (&Value::Bool(true), 0), "{story}");
        assert!(story["stats"]["calls"].as_u64() >= Some(2), "{story}");
    }
    assert!(is_empty(home.path()));
    assert_eq!(processes_in(home.path()), Vec::<String>::new());
}

#[test]
fn a_server_that_forgets_at_a_restart_is_red() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    // As the real one, but each start has a file of its own.
    let forgetful = home.path().join("forgetful");
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2 $4\" = 'serve --listen --db' ] || exit 9\ndb=$5.$$\naddress=$3\nshift 5\n\
         exec {PROGRAM} serve --listen \"$address\" --db \"$db\" \"$@\"\n"
    );
    fs::write(&forgetful, script).expect("it can be written");
    fs::set_permissions(&forgetful, Permissions::from_mode(0o755)).expect("it is ours");
    let server = forgetful.to_str().expect("it is text");
    let done = callonce(&["chaos", "run", "--crash", "--server", server]);
    assert_eq!(done.code, Some(6), "{done:?}");
    assert!(done.stderr.contains("crash"), "{done:?}");
    for broken in ["one call and one effect for each key so far", "the log can be read"] {
        let line = format!("BROKEN {broken}: ");
        assert!(done.stdout.contains(&line), "{line} is not in {done:?}");
    }
    assert!(done.stdout.contains("[chaos] crash IS BROKEN"), "{done:?}");
}

#[test]
fn a_dry_run_says_all_and_does_nothing() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let env = [("TMPDIR", home.path().to_str().expect("it is text"))];
    // It does not even look for the server.
    let done = callonce_with(&env, &["chaos", "run", "--dry-run", "--server", "/nowhere/callonce"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(NAMES.iter().all(|name| done.stdout.lines().any(|line| line == *name)), "{done:?}");
    assert!(done.stdout.contains("/nowhere/callonce serve") && done.stdout.ends_with("nothing was done\n"));
    assert!(is_empty(home.path()));
    let one = callonce(&["chaos", "run", "--dry-run", "--stall", "--output", "json"]);
    assert_eq!(one.json()[0]["scenario"], "stall");
}

#[test]
fn a_server_that_does_not_come_up_is_no_verdict() {
    for (server, code, said) in
        [("/nowhere/callonce", 2, "--server /nowhere/callonce"), ("/bin/true", 78, "does not come up")]
    {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let env = [("TMPDIR", home.path().to_str().expect("it is text"))];
        let done = callonce_with(&env, &["chaos", "run", "--new-key", "--server", server]);
        assert_eq!(done.code, Some(code), "{done:?}");
        assert!(done.stderr.contains(said), "{done:?}");
        assert!(is_empty(home.path()));
    }
}

#[test]
fn a_reader_who_has_enough_does_not_stop_the_cleaning_up() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = Command::new(PROGRAM);
    command.env_clear().env("TMPDIR", home.path()).args(["chaos", "run", "--new-key"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program runs");
    // As `| head -n 1` does.
    let mut first = String::new();
    BufReader::new(run.stdout.take().expect("it is piped")).read_line(&mut first).expect("it says something");
    assert!(first.starts_with("[chaos] new-key: "), "{first}");
    assert_eq!(run.wait().expect("it is our child").code(), Some(0));
    assert!(is_empty(home.path()));
    assert_eq!(processes_in(home.path()), Vec::<String>::new());
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    for signal in [Signal::INT, Signal::TERM] {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let mut command = Command::new(PROGRAM);
        command.env_clear().env("TMPDIR", home.path()).args(["chaos", "run", "--stall"]);
        let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program runs");
        let mut lines = BufReader::new(run.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
        // While its server is stopped, which is when it is hardest to get rid of.
        let stopped = lines.find(|line| line.starts_with("[chaos] SIGSTOP"));
        assert!(stopped.is_some(), "it never got there");
        assert_eq!(processes_in(home.path()).len(), 1, "its server");
        let pid = Pid::from_raw(run.id().cast_signed()).expect("a process id is not zero");
        kill_process(pid, signal).expect("our own child can be signalled");
        let _ = lines.count();
        assert_eq!(run.wait().expect("it is our child").code(), Some(130));
        assert!(is_empty(home.path()));
        assert_eq!(processes_in(home.path()), Vec::<String>::new());
    }
}

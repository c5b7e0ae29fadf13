//! The commands, as a process: exit codes, figures, and what a kill leaves behind.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output};

use callonce::store::Store as _;
use callonce::store::record::Snapshot;
use callonce::testing::many_calls;
use callonce::testing::random_calls::{claim, request, submit};
use serde_json::Value;

use crate::place::{Place, SUCCEEDED, does, id, settled};

fn callonce(database: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callonce"));
    let (name, rest) = args.split_first().unwrap();
    command.arg(name).arg("--db").arg(database).args(rest).env_clear();
    command
}

fn run(place: &Place, args: &[&str]) -> Output {
    callonce(&place.database(), args).output().unwrap()
}

fn figures(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn talk(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test]
async fn a_clean_database_exits_0_with_figures() {
    let place = Place::with_every_state().await;
    for args in [
        &["verify", "--output", "json"][..],
        &["rebuild", "--check", "--output", "json"],
        &["rebuild", "--output", "json"],
    ] {
        let output = run(&place, args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", talk(&output));
        let figures = figures(&output);
        assert_eq!((&figures["ok"], &figures["broken"]), (&Value::Bool(true), &0.into()), "{args:?}");
        assert_eq!((&figures["calls"], &figures["effects"]), (&10.into(), &2.into()), "{args:?}");
        assert_eq!(figures["events"], figures["position"], "{args:?}");
        assert!(figures["seconds"].is_f64() && figures["events_per_second"].is_u64(), "{args:?}: {figures}");
        assert_eq!(figures["first"], Value::Array(vec![]));
    }
}

#[tokio::test]
async fn a_broken_law_exits_6_and_is_named() {
    let place = Place::with_every_state().await;
    let name = id(SUCCEEDED);
    place.execute(&format!("UPDATE calls SET status = 'failed' WHERE call_id = '{name}'"));
    for args in [&["verify"][..], &["rebuild", "--check"]] {
        let output = run(&place, &[args, &["--output", "json"]].concat());
        assert_eq!(output.status.code(), Some(6), "{args:?}");
        let figures = figures(&output);
        assert_eq!((&figures["ok"], &figures["broken"]), (&Value::Bool(false), &1.into()), "{args:?}");
        let first = &figures["first"][0];
        assert_eq!((&first["law"], &first["call_id"]), (&"L7".into(), &name.as_str().into()), "{args:?}");
        assert_eq!((&first["version"], &first["column"]), (&3.into(), &"calls.status".into()), "{args:?}");
        let table = run(&place, args);
        assert_eq!(table.status.code(), Some(6), "{args:?}");
        let shown = String::from_utf8(table.stdout.clone()).unwrap();
        assert!(shown.contains("calls.status") && shown.contains(&name), "{args:?}: {shown}");
        assert!(talk(&table).contains("1 broken"), "{args:?}: {}", talk(&table));
    }
    assert_eq!(run(&place, &["rebuild"]).status.code(), Some(0));
    assert_eq!(run(&place, &["verify"]).status.code(), Some(0));
}

#[tokio::test]
async fn a_log_that_cannot_be_believed_exits_6_and_changes_nothing() {
    let place = Place::with_every_state().await;
    place.execute("UPDATE audit SET event = 'archived_v9', payload = x'01090100000000' WHERE id = 7");
    let before = place.tables();
    let output = run(&place, &["rebuild"]);
    assert_eq!(output.status.code(), Some(6));
    assert!(
        talk(&output).contains("position 7") && talk(&output).contains("nothing was changed"),
        "{}",
        talk(&output)
    );
    assert_eq!(place.tables(), before);
}

#[tokio::test]
async fn a_file_that_is_in_use_or_is_none_has_its_own_exit_code() {
    let place = Place::with_every_state().await;
    let store = place.open();
    assert_eq!(run(&place, &["rebuild"]).status.code(), Some(75));
    assert_eq!(run(&place, &["rebuild", "--check"]).status.code(), Some(75));
    store.close().await;
    let nowhere = Place::new();
    for args in [&["verify"][..], &["rebuild"], &["rebuild", "--check"]] {
        assert_eq!(run(&nowhere, args).status.code(), Some(74), "{args:?}");
        assert!(!nowhere.database().exists(), "{args:?} makes no file");
    }
    place.execute("PRAGMA user_version = 2");
    for args in [&["verify"][..], &["rebuild"]] {
        let output = run(&place, args);
        assert_eq!(output.status.code(), Some(78), "{args:?}");
        assert!(talk(&output).contains("newer callonce"), "{args:?}: {}", talk(&output));
    }
}

#[tokio::test]
async fn verify_looks_beside_a_server() {
    let place = Place::new();
    let store = place.open();
    settled(&store, 1).await;
    let output = run(&place, &["verify"]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    // Its lease was over long ago, and the server that holds the file gives nobody up.
    let call = does(&store, &Snapshot::absent(), submit(&request(2))).await;
    does(&store, &call, claim(20, "worker-1")).await;
    let output = run(&place, &["verify"]);
    assert_eq!(output.status.code(), Some(6));
    assert!(talk(&output).contains("L8 everything ends"), "{}", talk(&output));
    store.close().await;
    assert_eq!(run(&place, &["verify"]).status.code(), Some(0), "where no server runs, nothing is late");
}

/// Killed with half of the new tables written: the old ones are whole, and the next rebuild succeeds.
#[tokio::test]
async fn a_rebuild_that_is_killed_leaves_the_old_tables() {
    let place = Place::new();
    let store = place.open();
    many_calls::fill(&store, 1..1_500).await.unwrap();
    store.close().await;
    let right = place.tables();
    place.execute("UPDATE calls SET attempt = 3 WHERE rowid % 2 = 0");
    let damaged = place.tables();
    let killed = callonce(&place.database(), &["rebuild", "--chaos"])
        .env("CALLONCE_CRASH_AT", "rebuild.half_way")
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(9), "{}", talk(&killed));
    assert!(talk(&killed).contains("rebuild.half_way"));
    assert_eq!(place.tables(), damaged);
    let output = run(&place, &["rebuild"]);
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    assert_eq!(place.tables(), right);
    assert_eq!(place.findings(), []);
}

#[tokio::test]
async fn no_bar_is_drawn_where_nobody_looks() {
    let place = Place::with_every_state().await;
    assert_eq!(talk(&run(&place, &["verify"])), "");
}

#[tokio::test]
async fn the_log_shows_a_call_as_it_was() {
    let place = Place::with_every_state().await;
    let name = id(SUCCEEDED);
    let at = |version: &str| run(&place, &["log", "--output", "json", "--at", version, &name]);
    for (version, status) in [("1", "pending"), ("2", "running"), ("3", "succeeded")] {
        let output = at(version);
        assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
        let call = figures(&output);
        assert_eq!((&call["status"], call["version"].to_string()), (&status.into(), version.to_string()));
    }
    let output = at("4");
    assert_eq!(output.status.code(), Some(4));
    assert!(talk(&output).contains("no version 4; it has versions 1 to 3"), "{}", talk(&output));
    assert_eq!(at("nonsense").status.code(), Some(2));
    assert_eq!(at("-1").status.code(), Some(2));
    assert_eq!(run(&place, &["log", "--at", "1"]).status.code(), Some(2), "of which call?");
    let stranger = run(&place, &["log", "--at", "1", "c_ffffffffffffffffffffffffffffffff"]);
    assert_eq!(stranger.status.code(), Some(4));
}

/// A backup that SQLite makes of a live database has no WAL until a server opens it.
#[tokio::test]
async fn a_backup_by_vacuum_into_is_read_as_it_is() {
    let place = Place::with_every_state().await;
    let backup = Place::new();
    let db = rusqlite::Connection::open(place.database()).unwrap();
    db.execute_batch(&format!("VACUUM INTO '{}'", backup.database().display())).unwrap();
    std::fs::copy(place.beside("-head"), backup.beside("-head")).unwrap();
    let before = std::fs::read(backup.database()).unwrap();
    for args in [&["verify"][..], &["rebuild", "--check"], &["list"], &["stats"], &["log"]] {
        let output = run(&backup, args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", talk(&output));
    }
    assert_eq!(std::fs::read(backup.database()).unwrap(), before);
}

/// A row that was deleted past the guards frees its key, and nothing that is made from the log can take that back.
#[tokio::test]
async fn a_key_that_ran_twice_is_named_with_what_to_do() {
    let place = Place::new();
    let store = place.open();
    let key = settled(&store, 1).await.call.request().unwrap().key.clone();
    store.close().await;
    place.execute("DELETE FROM calls");
    let output = run(&place, &["verify", "--output", "json"]);
    assert_eq!(output.status.code(), Some(6), "{}", talk(&output));
    let told = figures(&output).to_string();
    assert!(told.contains(&format!("its key `{key}` is taken for a new one")), "{told}");
}

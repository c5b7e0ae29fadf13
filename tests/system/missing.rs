//! A file that is not what it was: the server refuses rather than serve a past that was never acknowledged.

use std::path::Path;

use super::harness::{CHARGE, Exit, Home, Start, until};

const FLAG: &str = "--accept-data-loss";

/// Runs so many charges, and stops.
fn live(home: &Home, keys: &[&str]) {
    let server = home.serve();
    for key in keys {
        assert_eq!(server.client().settle(key, CHARGE).text("status"), "succeeded");
    }
    assert_eq!(server.stop().code, Some(0));
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}

/// Refused for the reason that `says` names, until the loss is accepted; then started as ever.
fn refused_until_accepted(home: &Home, says: &str) {
    for _ in 0..2 {
        let refused: Exit = home.start().end();
        assert_eq!(refused.code, Some(74), "{refused:?}");
        for part in ["calls.db", says, FLAG] {
            assert!(refused.stderr.contains(part), "no `{part}` in {refused:?}");
        }
    }

    let server = home.start().args([FLAG]).server();
    let words = server.words().join("\n");
    assert!(words.contains("data loss accepted") && words.contains(says), "{words}");
    assert_eq!(server.client().settle("new", CHARGE).text("status"), "succeeded");
    assert_eq!(server.stop().code, Some(0));
    let server: Start = home.start();
    assert_eq!(server.server().client().by_key("new").status, 200, "the loss is accepted once, not for ever");
    home.db().keeps_the_laws();
}

#[test]
fn events_without_a_head_file() {
    let home = Home::new();
    live(&home, &["a"]);
    std::fs::remove_file(home.beside("-head")).expect("it is there");
    refused_until_accepted(&home, "is missing");
}

#[test]
fn a_damaged_head_file() {
    let home = Home::new();
    live(&home, &["a"]);
    std::fs::write(home.beside("-head"), [0; 8192]).expect("it can be written");
    refused_until_accepted(&home, "is damaged");
}

#[test]
fn an_old_copy_put_back() {
    let home = Home::new();
    live(&home, &["a"]);
    let backup = home.beside(".backup");
    copy(&home.database(), &backup);
    live(&home, &["b", "c"]);
    copy(&backup, &home.database());
    refused_until_accepted(&home, "6 events are missing");
}

#[test]
fn a_wal_that_was_deleted() {
    let home = Home::new();
    let server = home.serve();
    server.client().settle("a", CHARGE);
    let head = home.beside("-head");
    let covers_all = || std::fs::read_to_string(&head).is_ok_and(|text| text.contains("position 3\n"));
    until("the head file covers the call", || covers_all().then_some(()));
    server.kill();
    std::fs::remove_file(home.beside("-wal")).expect("it is there");
    refused_until_accepted(&home, "3 events are missing");
}

#[test]
fn a_database_with_another_history() {
    let (home, other) = (Home::new(), Home::new());
    live(&home, &["a", "b"]);
    live(&other, &["a", "b", "c"]);
    copy(&other.database(), &home.database());
    refused_until_accepted(&home, "not the one that was durable");
}

#[test]
fn nothing_is_missing_where_nothing_was() {
    let home = Home::new();
    live(&home, &["a"]);
    // The database and its head, carried to another place, is the same database.
    let moved = Home::new();
    copy(&home.database(), &moved.database());
    // Without its head it could as well be the beginning of a longer one.
    let exit = moved.start().end();
    assert_eq!(exit.code, Some(74), "{exit:?}");
    assert!(exit.stderr.contains("-head") && exit.stderr.contains("--accept-data-loss"), "{exit:?}");
    copy(&home.beside("-head"), &moved.beside("-head"));
    let server = moved.serve();
    assert_eq!(server.client().by_key("a").status, 200);
}

#[test]
fn a_file_of_a_newer_or_another_program_is_left_as_it_is() {
    let newer = Home::new();
    live(&newer, &["a"]);
    write(&newer, "PRAGMA user_version = 99");
    let another = Home::new();
    write(&another, "CREATE TABLE calls (anything)");
    let text = Home::new();
    std::fs::write(text.database(), "not a database at all\n".repeat(500)).expect("it can be written");

    for (home, code, says) in [
        (newer, 78, "a newer callonce made it (schema 99"),
        (another, 78, "not one of callonce"),
        (text, 74, "not a database"),
    ] {
        let bytes = std::fs::read(home.database()).expect("it can be read");
        let refused = home.start().args([FLAG]).end();
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.stderr.contains("calls.db") && refused.stderr.contains(says), "{refused:?}");
        assert!(std::fs::read(home.database()).expect("it can be read") == bytes, "changed: {says}");
        // To read a file of that kind SQLite may make an empty WAL beside it.
        assert_eq!(home.beside("-wal").metadata().map_or(0, |wal| wal.len()), 0, "{says}");
    }
}

#[test]
fn a_damaged_row_is_never_an_answer_and_in_no_other_calls_way() {
    // Damaged while it waits for its first attempt, and while a process that is gone was running it.
    for point in ["worker.before_claim", "worker.after_claim"] {
        let home = Home::new();
        live(&home, &["done"]);
        let server = home.start().dying_at(point).server();
        let _ = server.client().try_post("open", CHARGE);
        server.exit();
        write(&home, r#"UPDATE calls SET args_json = '{"amount":731}'"#);

        let server = home.serve();
        let client = server.client();
        server.says("a call is damaged and will not be run");
        for key in ["done", "open"] {
            for answer in [client.by_key(key), client.post(key, CHARGE)] {
                assert_eq!((answer.status, answer.code().as_str()), (500, "internal"), "{answer:?}");
                assert!(!answer.body.contains("731"), "{answer:?}");
            }
        }
        assert_eq!(client.settle("new", CHARGE).text("status"), "succeeded", "{point}");
        assert_eq!(client.get("/readyz").status, 200, "two calls are damaged, the store is not");
    }
}

/// Writes into the database as any program could.
fn write(home: &Home, sql: &str) {
    let db = rusqlite::Connection::open(home.database()).expect("the database opens");
    db.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

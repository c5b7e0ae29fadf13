//! Other programs on the same file: they may keep the server waiting, and it says so, but they break nothing.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::harness::{Answer, CHARGE, Home, all_at_once, post_text, until};

/// Another program's connection.
fn neighbour(home: &Home) -> Connection {
    Connection::open(home.database()).expect("the database opens")
}

fn run(neighbour: &Connection, sql: &str) {
    neighbour.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// Fails if the answer shows what only the log may say.
fn shows_nothing_of_the_inside(answer: &Answer, home: &Home) {
    let folder = home.folder().to_str().expect("a temporary folder has a plain name");
    for inside in [folder, "calls.db", "BEGIN", "SQLITE", "SQLite", "database is locked"] {
        assert!(!answer.body.contains(inside), "`{inside}` in {answer:?}");
    }
}

#[test]
fn while_another_program_holds_the_write_lock_nothing_is_accepted_and_the_rest_goes_on() {
    const SLEEP: &str = r#"{"tool":"sleep","args":{"seconds":1}}"#;
    const CLIENTS: usize = 200;
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    let done = client.settle("done", CHARGE);
    // Its outcome will have to be recorded while that is impossible.
    client.post("running", SLEEP);
    client.reaches("running", "running");

    let other = neighbour(&home);
    run(&other, "BEGIN EXCLUSIVE");
    let mut vanishing = client.connect().expect("the server accepts");
    vanishing.write_all(post_text("vanished", "", CHARGE).as_bytes()).expect("the server reads");
    drop(vanishing);
    std::thread::scope(|scope| {
        let refused =
            scope.spawn(|| all_at_once(CLIENTS, |number| client.post(&format!("k-{number}"), CHARGE)));
        // Readers need no lock, so they are served while all those wait.
        assert_eq!(client.by_key("done").body, done.body);
        assert_eq!(client.stats()["calls"], 2);
        assert_eq!(client.get("/livez").status, 200);
        for answer in refused.join().expect("no client panics") {
            assert_eq!((answer.status, answer.code().as_str()), (503, "unavailable"), "{answer:?}");
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
            shows_nothing_of_the_inside(&answer, &home);
        }
    });
    assert_eq!(client.get("/readyz").status, 503);
    shows_nothing_of_the_inside(&client.get("/readyz"), &home);
    let log = server.says("the store failed");
    assert!(log.contains("calls.db") && log.contains("lock"), "{log}");
    run(&other, "ROLLBACK");

    // Nobody restarts anything: what ran is recorded, what was refused can be sent again.
    assert_eq!(client.reaches("running", "succeeded").json()["attempt"], 1);
    assert_eq!(client.settle("k-0", CHARGE).text("status"), "succeeded");
    assert_eq!(client.get("/readyz").status, 200);
    // The client that left is a whole call, or none.
    match client.by_key("vanished") {
        answer if answer.status == 404 => {}
        answer => assert_eq!(client.settle("vanished", CHARGE).call_id(), answer.call_id()),
    }
    home.db().keeps_the_laws();
}

#[test]
fn another_program_that_empties_the_wal_all_the_time_loses_nothing() {
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    let enough = AtomicBool::new(false);
    let accepted = std::thread::scope(|scope| {
        let checkpoints = scope.spawn(|| {
            let other = neighbour(&home);
            let mut checkpoints = 0;
            while !enough.load(Ordering::SeqCst) {
                let run = other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
                checkpoints += usize::from(run.is_ok_and(|busy| busy == 0));
            }
            checkpoints
        });
        let accepted = all_at_once(8, |thread| {
            let keys = (0..60).map(|call| format!("{thread}-{call}"));
            keys.filter(|key| client.post(key, CHARGE).status == 202).collect::<Vec<_>>()
        });
        enough.store(true, Ordering::SeqCst);
        assert!(checkpoints.join().expect("it does not panic") > 10, "they met too seldom");
        accepted.concat()
    });
    assert_eq!(accepted.len(), 8 * 60);
    server.kill();
    let server = home.serve();
    for key in &accepted {
        assert_eq!(server.client().settle(key, CHARGE).text("status"), "succeeded");
    }
    home.db().keeps_the_laws();
}

#[test]
fn a_reader_that_keeps_the_wal_from_being_emptied_keeps_the_server_from_starting() {
    let home = Home::new();
    let server = home.serve();
    server.client().settle("before", CHARGE);
    let reader = neighbour(&home);
    run(&reader, "BEGIN; SELECT count(*) FROM calls");
    server.client().settle("after", CHARGE);
    server.kill();

    let refused = home.start().end();
    assert_eq!(refused.code, Some(74), "{refused:?}");
    assert!(refused.stderr.contains("calls.db") && refused.stderr.contains("another program"), "{refused:?}");
    run(&reader, "COMMIT");
    let server = home.serve();
    for key in ["before", "after"] {
        until("it is there", || (server.client().by_key(key).status == 200).then_some(()));
    }
    home.db().keeps_the_laws();
}

//! Killed at any point: nothing acknowledged is lost, nothing happens twice, everything ends.

use std::io::{Read, Write};
use std::sync::mpsc::channel;

use callonce::engine::crash::POINTS;

use super::harness::{CHARGE, Exit, Home, post_text};

const FAIL_ONCE: &str = r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#;
const SLEEP_SHORT: &str = r#"{"tool":"sleep","args":{"seconds":0.05}}"#;

/// Where a charge dies. `:N` is the transaction: 1 takes the key, 2 claims and records the outcome, unless the point lies
/// between the two.
const WHILE_ACCEPTED: [&str; 9] = [
    "store.migrate",
    "submit.before_append",
    "store.after_begin:1",
    "store.between_calls_and_audit:1",
    "store.between_calls_and_audit.created",
    "store.before_commit:1",
    "store.after_commit:1",
    "store.before_answer:1",
    "submit.after_append",
];
const WHILE_CLAIMED: [&str; 3] =
    ["worker.before_claim", "store.between_calls_and_audit.claimed", "worker.after_claim"];
const WHILE_FINISHED: [&str; 9] = [
    "worker.after_tool",
    "store.after_begin:2",
    "store.between_calls_and_audit:2",
    "store.between_calls_and_audit:3",
    "store.between_calls_and_audit.succeeded",
    "store.before_commit:2",
    "store.after_commit:2",
    "store.before_answer:2",
    "worker.after_commit",
];
/// Where a call dies that is claimed in one transaction and finished in another, as those that wait for something are.
const IN_STEPS: [&str; 10] = [
    "store.after_begin:2",
    "store.between_calls_and_audit:2",
    "store.before_commit:2",
    "store.after_commit:2",
    "store.before_answer:2",
    "store.after_begin:3",
    "store.between_calls_and_audit:3",
    "store.before_commit:3",
    "store.after_commit:3",
    "store.before_answer:3",
];
/// Points that a charge which runs once does not come to; the tests below lead other calls there.
const ELSEWHERE: [&str; 4] = [
    "store.between_calls_and_audit.failed",
    "store.between_calls_and_audit.retry_reset",
    "store.between_calls_and_audit.recover",
    "recover.after_append",
];

#[test]
fn every_point_is_died_at() {
    let mut died_at: Vec<_> = [&WHILE_ACCEPTED[..], &WHILE_CLAIMED, &WHILE_FINISHED]
        .concat()
        .into_iter()
        .map(|point| point.split(':').next().unwrap_or(point))
        .chain(ELSEWHERE)
        .collect();
    let mut points = POINTS.to_vec();
    died_at.sort_unstable();
    died_at.dedup();
    points.sort_unstable();
    assert_eq!(died_at, points);
}

#[test]
fn a_charge_killed_while_it_is_accepted_happens_once() {
    WHILE_ACCEPTED.into_iter().for_each(|point| killed_at(point, CHARGE, 1));
}

#[test]
fn a_charge_killed_while_it_is_claimed_happens_once() {
    WHILE_CLAIMED.into_iter().for_each(|point| killed_at(point, CHARGE, 1));
}

#[test]
fn a_charge_killed_while_it_finishes_happens_once() {
    WHILE_FINISHED.into_iter().for_each(|point| killed_at(point, CHARGE, 1));
}

#[test]
fn a_call_that_waits_killed_while_it_runs_runs_again() {
    IN_STEPS.into_iter().for_each(|point| killed_at(point, SLEEP_SHORT, 0));
}

fn killed_at(point: &str, call: &str, effects: i64) {
    let home = Home::new();
    let mut acknowledged = None;
    match home.start().dying_at(point).attempt() {
        Ok(server) => {
            acknowledged = server.client().try_post("k", call).ok();
            died_at(point, &server.exit());
        }
        Err(exit) => died_at(point, &exit),
    }
    let reached = match home.db().count("SELECT count(*) FROM sqlite_master WHERE name = 'audit'") {
        0 => vec![],
        _ => home.db().events("k"),
    };
    let server = home.serve();
    if let Some(answer) = &acknowledged {
        assert_eq!(server.client().by_key("k").call_id(), answer.call_id(), "{point}");
    }
    let done = server.client().settle("k", call);
    assert_eq!((done.status, done.text("status").as_str()), (200, "succeeded"), "{point}");
    // What was recorded stands, and only an attempt that was cut short is made again.
    let attempts = match reached.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["created"] | ["created", "claimed", "succeeded"] => 1,
        ["created", "claimed"] => 2,
        _ => panic!("{point}: {reached:?}"),
    };
    assert_eq!(done.json()["attempt"], attempts, "{point} after {reached:?}");
    assert_eq!(home.db().count("SELECT count(*) FROM effects"), effects, "{point}");
    home.db().keeps_the_laws();
}

fn died_at(point: &str, exit: &Exit) {
    let point = point.split(':').next().unwrap_or(point);
    let last_words = exit.stderr.contains(&format!("killed at crash point {point}"));
    assert!(exit.was_killed() && last_words, "{point}: {exit:?}");
}

#[test]
fn killed_while_a_failure_or_a_retry_is_recorded() {
    let point = "store.between_calls_and_audit.failed";
    let home = Home::new();
    let server = home.start().dying_at(point).server();
    let _ = server.client().try_post("k", FAIL_ONCE);
    died_at(point, &server.exit());
    assert_eq!(home.db().events("k"), ["created"]);
    let server = home.serve();
    server.client().reaches("k", "failed");
    assert_eq!(server.client().settle("k", FAIL_ONCE).json()["attempt"], 2);
    let events = ["created", "claimed", "failed", "retry_reset", "claimed", "succeeded"];
    assert_eq!(home.db().events("k"), events);
    home.db().keeps_the_laws();

    let point = "store.between_calls_and_audit.retry_reset";
    let home = Home::new();
    let server = home.start().dying_at(point).server();
    assert_eq!(server.client().settle("k", FAIL_ONCE).text("status"), "failed");
    let _ = server.client().try_post("k", FAIL_ONCE);
    died_at(point, &server.exit());
    let server = home.serve();
    assert_eq!(server.client().by_key("k").text("status"), "failed");
    assert_eq!(server.client().settle("k", FAIL_ONCE).text("status"), "succeeded");
    let events = ["created", "claimed", "failed", "retry_reset", "claimed", "succeeded"];
    assert_eq!(home.db().events("k"), events);
    home.db().keeps_the_laws();
}

#[test]
fn killed_again_while_recovering() {
    let home = Home::new();
    let server = home.start().dying_at("worker.after_claim").server();
    let _ = server.client().try_post("k", CHARGE);
    died_at("worker.after_claim", &server.exit());
    for point in [
        "store.between_calls_and_audit.recover",
        "store.before_commit",
        "store.after_commit",
        "worker.after_claim",
        "recover.after_append",
    ] {
        // All but one come before it listens, and that one may.
        let ended = home.start().dying_at(point).attempt().map(|server| server.exit());
        died_at(point, &ended.unwrap_or_else(|exit| exit));
        home.db().keeps_the_laws();
    }
    let server = home.serve();
    server.client().reaches("k", "succeeded");
    // The first attempt, one that ended before the fourth restart's claim was over, and the last.
    let events =
        ["created", "claimed", "recover", "claimed", "recover", "claimed", "succeeded"].map(str::to_owned);
    assert_eq!(home.db().events("k"), events);
    home.db().keeps_the_laws();
}

#[test]
fn a_call_that_was_running_runs_again_at_once() {
    const SLEEP: &str = r#"{"tool":"sleep","args":{"seconds":3}}"#;
    let home = Home::new();
    let server = home.start().args(["--lease", "1h"]).server();
    let first = server.client().post("k", SLEEP);
    server.client().reaches("k", "running");
    server.kill();

    let server = home.start().args(["--lease", "1h"]).server();
    let meanwhile = server.client().post("k", SLEEP);
    assert_eq!((meanwhile.status, meanwhile.call_id()), (202, first.call_id()));
    assert_eq!(meanwhile.header("idempotent-replayed"), Some("true"));
    let done = server.client().settle("k", SLEEP);
    assert_eq!((done.text("status").as_str(), &done.json()["attempt"]), ("succeeded", &2.into()));
    assert_eq!(home.db().events("k"), ["created", "claimed", "recover", "claimed", "succeeded"]);
    home.db().keeps_the_laws();
}

#[test]
fn what_was_accepted_runs_though_nobody_asks() {
    let home = Home::new();
    let server = home.start().dying_at("worker.before_claim").server();
    let _ = server.client().try_post("k", CHARGE);
    died_at("worker.before_claim", &server.exit());
    assert_eq!(home.db().events("k"), ["created"]);
    let _server = home.serve();
    let db = home.db();
    super::harness::until("the call succeeds", || (db.events("k").len() == 3).then_some(()));
    db.keeps_the_laws();
}

#[test]
fn a_call_that_kills_every_server_is_given_up() {
    const POISON: &str = r#"{"tool":"charge","args":{"amount":1,"_crash_before_commit":true}}"#;
    const ATTEMPTS: usize = 5;
    let start = |home: &Home| home.start().args(["--chaos", "--max-attempts", "5"]).attempt();
    let home = Home::new();
    let others: Vec<_> = (0..20).map(|number| format!("other-{number}")).collect();
    let mut deaths: usize = 0;
    let survivor = loop {
        match start(&home) {
            Err(exit) => died_at("worker.after_tool", &exit),
            Ok(server) => {
                // As clients do who do not know better: the same request after every restart.
                let poison = server.client().try_post("poison", POISON);
                // Nobody can tell who of those that ran at a death was to blame, so each death costs all of them an
                // attempt: those that come before the second one still have one left in the end.
                let come = deaths.checked_sub(1).and_then(|batch| others.chunks(4).nth(batch));
                for key in come.into_iter().flatten() {
                    let _ = server.client().try_post(key, SLEEP_SHORT);
                }
                if poison.is_ok_and(|answer| answer.text("status") == "failed") {
                    break server;
                }
                died_at("worker.after_tool", &server.exit());
            }
        }
        deaths += 1;
    };
    assert_eq!(deaths, ATTEMPTS);
    let client = survivor.client();
    let poison = client.post("poison", POISON).json();
    assert_eq!(poison["final"], true);
    assert_eq!(
        (&poison["error"]["code"], &poison["error"]["retryable"]),
        (&"retry_exhausted".into(), &false.into())
    );
    let claims = home.db().events("poison").iter().filter(|event| *event == "claimed").count();
    assert_eq!(claims, ATTEMPTS);
    for key in &others {
        assert_eq!(client.settle(key, SLEEP_SHORT).text("status"), "succeeded");
    }
    assert_eq!(home.db().count("SELECT count(*) FROM effects"), 0);
    home.db().keeps_the_laws();
}

/// Rounds of [`CLIENTS`] each: as many as fit into some seconds.
const ROUNDS: usize = 120;
const CLIENTS: usize = 5;

#[test]
fn what_was_acknowledged_is_there_after_a_kill_at_the_first_byte() {
    let home = Home::new();
    // What is killed so often in the middle must not run out of attempts.
    let serve = || home.start().args(["--max-attempts", "1000"]).server();
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        let server = serve();
        let client = server.client();
        let (tell, first_byte) = channel();
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|number| {
                    let tell = tell.clone();
                    scope.spawn(move || {
                        let key = format!("{round}-{number}");
                        let mut stream = client.connect().ok()?;
                        stream.write_all(post_text(&key, "", CHARGE).as_bytes()).ok()?;
                        stream.read_exact(&mut [0]).ok()?;
                        let _ = tell.send(());
                        Some(key)
                    })
                })
                .collect();
            drop(tell);
            first_byte.recv().expect("a client is answered");
            assert!(server.kill().was_killed());
            for key in clients.into_iter().filter_map(|client| client.join().expect("no client panics")) {
                assert_eq!(
                    home.db().count(&format!("SELECT count(*) FROM calls WHERE idem_key = '{key}'")),
                    1
                );
                acknowledged.push(key);
            }
        });
    }
    assert!(acknowledged.len() >= ROUNDS);
    let server = serve();
    for key in &acknowledged {
        assert_eq!(server.client().settle(key, CHARGE).text("status"), "succeeded");
    }
    home.db().keeps_the_laws();
}

//! SIGTERM at any moment: what was accepted stays accepted, what runs may finish, nothing new begins.

use std::sync::mpsc::channel;

use super::harness::{CHARGE, Home, all_at_once, post_text, until};

const SLEEP_LONG: &str = r#"{"tool":"sleep","args":{"seconds":10}}"#;

#[test]
fn what_was_accepted_while_stopping_is_kept() {
    const CLIENTS: usize = 50;
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    let (tell, answered) = channel();
    let mut accepted = std::thread::scope(|scope| {
        let stop = scope.spawn(move || {
            // In the middle: every client has sent, some have been answered, nobody has had enough.
            answered.iter().take(CLIENTS).for_each(drop);
            assert_eq!(server.stop().code, Some(0));
        });
        let accepted = all_at_once(CLIENTS, |number| {
            let keys = (0..).map(|call| format!("{number}-{call}"));
            let accepted = keys.map_while(|key| {
                let answer = client.try_post(&key, CHARGE).ok().filter(|answer| answer.status == 202)?;
                let _ = tell.send(());
                Some((key, answer.call_id()))
            });
            accepted.collect::<Vec<_>>()
        });
        stop.join().expect("it stops with 0");
        accepted.into_iter().flatten().collect::<Vec<_>>()
    });
    assert!(accepted.len() >= CLIENTS);

    let server = home.serve();
    accepted.sort_unstable();
    for (key, call_id) in accepted {
        let done = server.client().settle(&key, CHARGE);
        assert_eq!((done.call_id(), done.text("status")), (call_id, "succeeded".into()), "{key}");
    }
    home.db().keeps_the_laws();
}

#[test]
fn nothing_is_claimed_after_the_signal() {
    const CALLS: i64 = 100;
    let home = Home::new();
    let server = home.start().args(["--workers", "4"]).server();
    let client = server.client();
    all_at_once(CALLS as usize, |number| {
        client.post(&format!("k-{number}"), r#"{"tool":"sleep","args":{"seconds":3}}"#)
    });
    until("four calls run", || (client.stats()["by_status"]["running"] == 4).then_some(()));
    // One client waits for its call all along: the server is not idle when it is told to stop.
    let waiting = std::thread::spawn(move || {
        client.send(
            "GET /v1/tool-calls/by-key/k-0 HTTP/1.1\r\n\
        Host: callonce\r\nPrefer: wait=60\r\nConnection: close\r\n\r\n",
        )
    });
    let exit = server.stop();
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stderr.contains("everything that ran has finished"), "{exit:?}");
    // It may have come too late to be let in.
    drop(waiting.join().expect("the client does not panic"));

    let db = home.db();
    assert_eq!(db.count("SELECT count(*) FROM audit WHERE event = 'claimed'"), 4);
    let statuses = db.rows("SELECT status, count(*) FROM calls GROUP BY status ORDER BY status");
    assert_eq!(statuses, [format!("pending|{}", CALLS - 4), "succeeded|4".into()]);
    db.keeps_the_laws();
    let server = home.serve();
    until("the rest goes on", || (server.client().stats()["by_status"]["running"] == 8).then_some(()));
}

#[test]
fn what_does_not_finish_in_time_is_left_to_the_next_start() {
    let home = Home::new();
    let server = home.start().args(["--drain", "100ms"]).server();
    server.client().post("k", SLEEP_LONG);
    server.client().reaches("k", "running");
    let exit = server.stop();
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stderr.contains("taken up again at the next start"), "{exit:?}");
    let server = home.serve();
    assert_eq!(server.client().reaches("k", "running").json()["attempt"], 2);
    home.db().keeps_the_laws();
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let home = Home::new();
    let server = home.start().args(["--drain", "1h"]).server();
    server.client().post("k", SLEEP_LONG);
    server.client().reaches("k", "running");
    server.terminate();
    server.says("stopping");
    let exit = server.stop();
    assert_eq!(exit.code, Some(130), "{exit:?}");
    let server = home.serve();
    assert_eq!(server.client().reaches("k", "running").json()["attempt"], 2);
    home.db().keeps_the_laws();
}

#[test]
fn a_client_that_waits_is_answered_at_shutdown() {
    let home = Home::new();
    let server = home.start().args(["--drain", "1h"]).server();
    let client = server.client();
    let quick = r#"{"tool":"sleep","args":{"seconds":2}}"#;
    let waiting = std::thread::spawn(move || client.send(&post_text("k", "Prefer: wait=60\r\n", quick)));
    until("it runs", || (client.by_key("k").json()["status"] == "running").then_some(()));
    assert_eq!(server.stop().code, Some(0));
    let answer = waiting.join().expect("the client does not panic").expect("it is answered");
    assert_eq!(answer.status, 202);
    assert_eq!(answer.text("status"), "running");
    assert_eq!(home.db().events("k"), ["created", "claimed", "succeeded"]);
}

//! The acceptance of the whole: one key, one call, one effect, whatever the timing.

use std::io::{Read, Write};
use std::time::Duration;

use super::harness::{Answer, CHARGE, Client, Home, Proxy, all_at_once, post_text};

fn effects(client: &Client) -> i64 {
    client.stats()["effects"].as_i64().expect("it is a number")
}

#[test]
fn same_key_returns_same_call() {
    let home = Home::new();
    let server = home.serve();
    let client = server.client();

    let first = client.post("demo-1", CHARGE);
    assert_eq!((first.status, first.text("status").as_str()), (202, "pending"));
    assert_eq!(first.header("idempotent-replayed"), Some("false"));
    assert_eq!(first.header("location"), Some(format!("/v1/tool-calls/{}", first.call_id()).as_str()));
    let done = client.settle("demo-1", CHARGE);
    assert_eq!((done.status, done.text("status").as_str()), (200, "succeeded"));
    assert_eq!(done.call_id(), first.call_id());
    assert_eq!(done.header("idempotent-replayed"), Some("true"));
    let result = done.json()["result"].clone();
    assert_eq!((&result["charged"], &result["effect_id"]), (&100.into(), &done.text("effect_id").into()));

    // The same request in other words, from somebody else, is still the same request.
    for same in [
        CHARGE,
        r#"{ "args" : { "amount" : 1e2 } , "tool" : "charge" }"#,
        r#"{"tool":"charge","args":{"amount":100.0},"client_id":"other","seq":9}"#,
    ] {
        let again = client.post("demo-1", same);
        assert_eq!((again.status, &again.body), (200, &done.body), "{same}");
    }
    assert_eq!(client.by_key("demo-1").body, done.body);
    assert_eq!(effects(&client), 1);

    // Nor does it depend on the process: neither on its memory, nor on how it ended.
    server.kill();
    let server = home.serve();
    assert_eq!(server.client().post("demo-1", CHARGE).body, done.body);
    assert_eq!(server.stop().code, Some(0));
    let server = home.serve();
    assert_eq!(server.client().post("demo-1", CHARGE).body, done.body);
    assert_eq!(home.db().events("demo-1"), ["created", "claimed", "succeeded"]);
    home.db().keeps_the_laws();
}

#[test]
fn different_key_creates_new_call() {
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    let calls = ["demo-1", "demo-2", "DEMO-1"].map(|key| client.settle(key, CHARGE));
    for (one, other) in [(0, 1), (1, 2), (0, 2)] {
        assert_ne!(calls[one].call_id(), calls[other].call_id());
        assert_ne!(calls[one].text("effect_id"), calls[other].text("effect_id"));
    }
    assert_eq!(effects(&client), 3);
    home.db().keeps_the_laws();
}

#[test]
fn same_key_different_args_conflict() {
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    let first = client.settle("demo-1", CHARGE);
    let running = client.post("demo-2", r#"{"tool":"sleep","args":{"seconds":10}}"#);
    client.reaches("demo-2", "running");
    let events = home.db().count("SELECT count(*) FROM audit");

    for (key, other) in [
        ("demo-1", r#"{"tool":"charge","args":{"amount":731}}"#),
        ("demo-1", r#"{"tool":"charge","args":{"amount":100,"note":"731"}}"#),
        ("demo-1", r#"{"tool":"sleep","args":{}}"#),
        ("demo-2", CHARGE),
    ] {
        let refused = client.post(key, other);
        assert_eq!((refused.status, refused.code().as_str()), (409, "idempotency_conflict"), "{other}");
        assert_eq!(refused.header("retry-after"), None);
        assert_eq!(refused.json()["retryable"], false);
        assert!(!refused.body.contains("731"), "a value is shown: {refused:?}");
    }
    let refused = client.post("demo-1", r#"{"tool":"charge","args":{"amount":731}}"#);
    assert!(refused.body.contains("amount"), "it does not say what differs: {refused:?}");

    assert_eq!(home.db().count("SELECT count(*) FROM audit"), events, "a refused request left an event");
    assert_eq!(client.by_key("demo-1").body, first.body);
    assert_eq!(client.by_key("demo-2").call_id(), running.call_id());
    assert_eq!(effects(&client), 1);
    home.db().keeps_the_laws();
}

#[test]
fn concurrent_same_key_one_effect() {
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    for (threads, key) in [(12, "twelve"), (300, "three-hundred")] {
        let before = effects(&client);
        let answers = all_at_once(threads, |_| client.post(key, CHARGE));
        assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 202)), "{answers:?}");
        let new = |answer: &&Answer| answer.header("idempotent-replayed") == Some("false");
        assert_eq!(answers.iter().filter(new).count(), 1, "one request took the key");
        let done = client.settle(key, CHARGE);
        assert!(answers.iter().all(|answer| answer.call_id() == done.call_id()), "{answers:?}");
        assert_eq!(effects(&client), before + 1);
        assert_eq!(home.db().events(key), ["created", "claimed", "succeeded"]);
    }
    home.db().keeps_the_laws();
}

#[test]
fn failed_retryable_can_be_retried() {
    const FAIL_ONCE: &str = r#"{"tool":"fail","args":{"retryable":true,"times":1,"message":"not yet"}}"#;
    let home = Home::new();
    let server = home.serve();
    let client = server.client();

    let failed = client.settle("demo-1", FAIL_ONCE);
    assert_eq!((failed.status, failed.text("status").as_str()), (200, "failed"));
    let error = failed.json()["error"].clone();
    assert_eq!((&error["retryable"], &error["message"]), (&true.into(), &"not yet".into()));
    assert_eq!(failed.json()["final"], false);

    let reset = client.post("demo-1", FAIL_ONCE);
    assert_eq!((reset.status, reset.text("status").as_str()), (202, "pending"));
    assert_eq!((reset.call_id(), &reset.json()["attempt"]), (failed.call_id(), &1.into()));
    assert_eq!(reset.header("idempotent-replayed"), Some("false"));
    let done = client.settle("demo-1", FAIL_ONCE);
    assert_eq!((done.text("status").as_str(), &done.json()["attempt"]), ("succeeded", &2.into()));
    let one_retry = ["created", "claimed", "failed", "retry_reset", "claimed", "succeeded"];
    assert_eq!(home.db().events("demo-1"), one_retry);

    // Fifty clients who all saw it fail, and all try again at once, are one retry.
    client.settle("demo-2", FAIL_ONCE);
    let answers = all_at_once(50, |_| client.post("demo-2", FAIL_ONCE));
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 202)), "{answers:?}");
    client.settle("demo-2", FAIL_ONCE);
    assert_eq!(home.db().events("demo-2"), one_retry);

    // What failed for good stays so.
    let lost = client.settle("demo-3", r#"{"tool":"fail","args":{}}"#);
    assert_eq!((lost.status, &lost.json()["final"]), (200, &true.into()));
    assert_eq!(client.post("demo-3", r#"{"tool":"fail","args":{}}"#).body, lost.body);
    home.db().keeps_the_laws();
}

#[test]
fn crash_after_commit_then_restart() {
    const CRASH: &str = r#"{"tool":"charge","args":{"amount":100,"_crash_after_commit":true}}"#;
    let home = Home::new();
    let server = home.start().args(["--chaos"]).server();
    // The call is committed and the process gone before this client can hear of the result.
    let _ = server.client().send(&post_text("demo-1", "Prefer: wait=60\r\n", CRASH));
    let exit = server.exit();
    assert!(exit.was_killed(), "{exit:?}");
    let row = "SELECT status, attempt, effect_id IS NOT NULL FROM calls";
    assert_eq!(home.db().rows(row), ["succeeded|1|1"]);

    let server = home.start().args(["--chaos"]).server();
    let client = server.client();
    let again = client.post("demo-1", CRASH);
    assert_eq!((again.status, again.text("status").as_str()), (200, "succeeded"));
    assert_eq!(again.json()["attempt"], 1);
    assert_eq!(effects(&client), 1);
    assert_eq!(home.db().events("demo-1"), ["created", "claimed", "succeeded"]);
    home.db().keeps_the_laws();

    // Unarmed, the same member is refused, and the key stays free.
    let plain = Home::new();
    let server = plain.serve();
    let refused = server.client().post("demo-1", CRASH);
    assert_eq!((refused.status, refused.code().as_str()), (400, "bad_request"));
    assert_eq!(server.client().by_key("demo-1").status, 404);
}

#[test]
fn delay_response_then_retry_same_key() {
    let home = Home::new();
    let server = home.serve();
    // Later than any test waits.
    let proxy = Proxy::before(server.address, &["--mode", "delay-response", "--delay", "1h"]);
    let mut waiting = proxy.client().connect().expect("the proxy listens");
    waiting.write_all(post_text("demo-1", "", CHARGE).as_bytes()).expect("the proxy reads");
    let client = server.client();
    let held = client.reaches("demo-1", "succeeded");

    // The client has heard nothing, gives up, and cannot know what became of its request.
    waiting.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout can be set");
    waiting.read(&mut [0]).expect_err("the answer is held");
    drop(waiting);
    let evidence = proxy.evidence();
    assert_eq!((&evidence["upstream"], &evidence["client"]), (&[202].as_slice().into(), &"gave-up".into()));

    let again = client.settle("demo-1", CHARGE);
    assert_eq!(again.body, held.body);
    assert_eq!(effects(&client), 1);
    assert_eq!(home.db().events("demo-1"), ["created", "claimed", "succeeded"]);
    home.db().keeps_the_laws();
}

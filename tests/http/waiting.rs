//! Is an answer held back as long as the client asked, and no longer than it has to be?

use std::sync::Arc;

use callonce::testing::app::App;
use callonce::testing::raw_http::{Answer, request};
use serde_json::{Value, json};

use super::tools::{Gate, Unsure, setup_with};
use super::{CHARGE, accepted, calls, found, members, reaches, refused, settle, text};

const GATED: &str = r#"{"tool":"gate","args":{}}"#;

#[test]
fn a_post_that_waits_is_answered_with_what_became_of_the_call() {
    let app = App::start();
    let answer = app.post("k", &["Prefer: wait=60"], CHARGE);
    let call = found(&answer);
    assert_eq!((&call["status"], &call["version"]), (&json!("succeeded"), &json!(3)));
    assert_eq!(answer.header("preference-applied"), Some("wait=60"));
    assert_eq!(answer.header("idempotent-replayed"), Some("false"));
    assert_eq!(answer.header("location"), call["query_url"].as_str());
    assert_eq!(answer.header("etag"), Some("\"3\""));
    let again = app.post("k", &["Prefer: respond-async, wait=5; strict", "Prefer: wait=9"], CHARGE);
    assert_eq!(found(&again), call);
    assert_eq!(again.header("preference-applied"), Some("wait=5"));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));

    // Failed and still to be retried is an answer too.
    let failed = settle(&app, "f", r#"{"tool":"fail","args":{"retryable":true}}"#);
    assert_eq!((&failed["status"], &failed["final"]), (&json!("failed"), &json!(false)));
}

#[test]
fn when_the_time_is_over_the_call_is_shown_as_it_is() {
    let (_gate, setup) = Gate::with_setup();
    let app = App::start_with(setup);
    for (wait, applied) in [("wait=0", "wait=0"), ("wait=1", "wait=1"), ("wait=\"00\"", "wait=0")] {
        let answer = app.post("k", &[&format!("Prefer: {wait}")], GATED);
        let call = accepted(&answer);
        assert_eq!(call["final"], false);
        assert_eq!(answer.header("preference-applied"), Some(applied));
        let answer = app.get(text(&call, "query_url"), &[&format!("Prefer: {wait}")]);
        assert_eq!(found(&answer)["call_id"], call["call_id"]);
        assert_eq!(answer.header("preference-applied"), Some(applied));
    }
}

#[test]
fn a_wait_is_granted_up_to_a_minute_and_refused_if_it_is_no_number() {
    let app = App::start();
    for wait in ["wait", "wait=", "wait=soon", "wait=-1", "wait=1.5", "wait=5s"] {
        let header = format!("Prefer: {wait}");
        let problem = refused(&app.post("k", &[&header], CHARGE), 400, "bad_request");
        assert!(text(&problem, "detail").contains("Prefer: wait"), "{problem}");
        assert_eq!(calls(&app), 0);
    }
    let call = settle(&app, "k", CHARGE);
    refused(&app.get(text(&call, "query_url"), &["Prefer: wait=soon"]), 400, "bad_request");
    for wait in ["61", "3600", "99999999999999999999999999"] {
        let answer = app.post("k", &[&format!("Prefer: wait={wait}")], CHARGE);
        assert_eq!(answer.header("preference-applied"), Some("wait=60"), "{wait}");
    }
    let answer = app.post("k", &["Prefer: return=minimal"], CHARGE);
    assert_eq!(answer.header("preference-applied"), None);
    let answer = app.post("k", &["Prefer: wait=60"], r#"{"tool":"charge","args":{"amount":1}}"#);
    refused(&answer, 409, "idempotency_conflict");
    assert_eq!(answer.header("preference-applied"), None);
}

#[test]
fn a_held_call_is_no_reason_to_wait_longer() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let body = r#"{"tool":"unsure","args":{}}"#;
    let call = accepted(&app.post("k", &["Prefer: wait=60"], body));
    assert_eq!((&call["status"], &call["final"]), (&json!("running"), &json!(false)));
    assert_eq!(
        (&call["result"], &call["error"], &call["effect_id"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    let held = &call["held"];
    assert_eq!(members(held), ["since", "reason", "attempt", "effect_id"]);
    assert_eq!((&held["reason"], &held["attempt"]), (&json!("outcome_unknown"), &json!(1)));
    assert_eq!(text(held, "effect_id"), text(&call, "call_id").replace("c_", "eff_"));
    assert_eq!(held["since"], call["updated_at"]);

    let again = app.post("k", &["Prefer: wait=60"], body);
    assert_eq!(accepted(&again), call);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let url = text(&call, "query_url");
    for path in [url, "/v1/tool-calls/by-key/k"] {
        assert_eq!(found(&app.get(path, &["Prefer: wait=60"])), call);
    }
}

#[test]
fn a_get_waits_by_id_and_by_key() {
    let (gate, setup) = Gate::with_setup();
    let app = App::start_with(setup);
    let call = accepted(&app.post("k", &[], GATED));
    let url = text(&call, "query_url");
    let waiting: Vec<_> = [url, "/v1/tool-calls/by-key/k", "/v1/tool-calls/by-key/%22k%22"]
        .iter()
        .map(|path| {
            let mut connection = app.connect();
            connection.send(request("GET", path, &["Prefer: wait=60"], b""));
            connection
        })
        .collect();
    reaches(&app, url, 2);
    gate.open();
    for mut connection in waiting {
        let answer = connection.answer();
        assert_eq!(found(&answer)["status"], "succeeded");
        assert_eq!(answer.header("preference-applied"), Some("wait=60"));
        assert_eq!(answer.header("idempotent-replayed"), None);
    }
}

fn assert_not_modified(answer: &Answer, etag: &str) {
    assert_eq!((answer.status, answer.body.len()), (304, 0), "{answer:?}");
    assert_eq!(answer.header("etag"), Some(etag), "{answer:?}");
}

#[test]
fn a_version_that_is_known_is_not_sent_again() {
    let app = App::start();
    let call = settle(&app, "k", CHARGE);
    let url = text(&call, "query_url");
    let mut connection = app.connect();
    for known in ["\"3\"", "W/\"3\"", "\"1\", \"3\"", "\"nothing\",\"3\"", "*"] {
        let header = format!("If-None-Match: {known}");
        for path in [url, "/v1/tool-calls/by-key/k"] {
            // On one connection: what comes after a 304 is not taken for its body.
            assert_not_modified(&connection.exchange(request("GET", path, &[&header], b"")), "\"3\"");
            assert_not_modified(&connection.exchange(request("HEAD", path, &[&header], b"")), "\"3\"");
        }
    }
    for other in ["\"2\"", "\"33\"", "\"03\"", "3", "\"\"", "\"1\", \"2\"", "nonsense", ""] {
        let answer = app.get(url, &[&format!("If-None-Match: {other}")]);
        assert_eq!(found(&answer), call, "{other}");
        assert_eq!(answer.header("etag"), Some("\"3\""));
    }
    // A POST is no question about a version.
    assert_eq!(found(&app.post("k", &["If-None-Match: *"], CHARGE)), call);
    refused(&app.get("/v1/tool-calls/by-key/other", &["If-None-Match: *"]), 404, "not_found");
}

#[test]
fn a_long_poll_ends_with_each_new_version() {
    let (gate, setup) = Gate::with_setup();
    let app = App::start_with(setup);
    let call = accepted(&app.post("k", &[], GATED));
    let url = text(&call, "query_url");
    let poll = |seen: &str, wait: &str| {
        app.get(url, &[&format!("If-None-Match: {seen}"), &format!("Prefer: wait={wait}")])
    };

    let running = poll("\"1\"", "60");
    assert_eq!((&found(&running)["status"], &running.json()["version"]), (&json!("running"), &json!(2)));
    // Another version than the one there is: nothing to wait for.
    assert_eq!(found(&poll("\"1\"", "60")), running.json());
    assert_eq!(found(&poll("\"7\"", "60")), running.json());
    for wait in ["0", "1"] {
        let nothing_new = poll("\"2\"", wait);
        assert_not_modified(&nothing_new, "\"2\"");
        assert_eq!(nothing_new.header("preference-applied"), Some(format!("wait={wait}").as_str()));
    }
    let mut waiting = app.connect();
    waiting.send(request("GET", url, &["If-None-Match: \"2\"", "Prefer: wait=60"], b""));
    gate.open();
    let succeeded = waiting.answer();
    assert_eq!(found(&succeeded)["version"], 3);
    assert_eq!(succeeded.header("etag"), Some("\"3\""));
    assert_not_modified(&poll("\"3\"", "0"), "\"3\"");
}

#[test]
fn twelve_that_send_one_key_at_one_moment_get_one_call() {
    let app = App::start();
    let barrier = std::sync::Barrier::new(12);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let send = || {
            let mut connection = app.connect();
            let headers = ["Idempotency-Key: k", "Content-Type: application/json", "Prefer: wait=60"];
            let bytes = request("POST", "/v1/tool-calls", &headers, CHARGE.as_bytes());
            barrier.wait();
            connection.exchange(bytes)
        };
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it is answered")).collect()
    });
    let first = found(&answers[0]);
    assert!(answers.iter().all(|answer| found(answer) == first));
    let new = answers.iter().filter(|answer| answer.header("idempotent-replayed") == Some("false"));
    assert_eq!(new.filter(|answer| answer.header("location").is_some()).count(), 1);
    assert!(
        app.get("/stats", &[]).text().starts_with(r#"{"calls":1,"effects":1,"by_status":{"succeeded":1},"#)
    );
}

#[test]
fn a_client_that_leaves_while_it_waits_takes_nothing_with_it() {
    let (gate, setup) = Gate::with_setup();
    let app = App::start_with(setup);
    let headers = ["Idempotency-Key: k", "Content-Type: application/json", "Prefer: wait=60"];
    let mut leaves = app.connect();
    leaves.send(request("POST", "/v1/tool-calls", &headers, GATED.as_bytes()));
    let call = accepted(&app.post("k", &[], GATED));
    let url = text(&call, "query_url");
    reaches(&app, url, 2);
    drop(leaves);
    gate.open();
    assert_eq!(found(&app.get(url, &["Prefer: wait=60"]))["status"], "succeeded");
}

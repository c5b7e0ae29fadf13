//! Is each request answered with the status, the headers and the members that the API promises?

use std::num::NonZeroUsize;

use callonce::engine::Settings;
use callonce::testing::app::{App, Setup};
use serde_json::{Value, json};

use super::tools::Gate;
use super::{CHARGE, accepted, calls, found, reaches, refused, settle, text};

fn assert_is_time(time: &str) {
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000000Z", "{time}");
}

#[test]
fn a_new_key_is_accepted_with_the_whole_call_and_where_to_find_it() {
    let app = App::start();
    let body = r#"{"tool":"charge","args":{"amount":100},"client_id":"demo","seq":1}"#;
    let answer = app.post("demo-1", &[], body);
    let call = accepted(&answer);
    let (id, created) = (text(&call, "call_id"), text(&call, "created_at"));
    assert_eq!(
        answer.text(),
        format!(
            r#"{{"call_id":"{id}","idem_key":"demo-1","status":"pending","final":false,"attempt":0,"result":null,"error":null,"query_url":"/v1/tool-calls/{id}","tool":"charge","args":{{"amount":100}},"client_id":"demo","seq":1,"effect_id":null,"held":null,"version":1,"created_at":"{created}","updated_at":"{created}"}}"#
        )
    );
    let hex = id.strip_prefix("c_").expect("ids begin with c_");
    assert!(hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()), "{id}");
    assert_is_time(created);
    assert_eq!(answer.header("location"), Some(format!("/v1/tool-calls/{id}").as_str()));
    assert_eq!(answer.header("idempotent-replayed"), Some("false"));
    assert_eq!(answer.header("etag"), Some("\"1\""));
    assert_eq!(answer.header("preference-applied"), None);
}

#[test]
fn a_known_key_is_answered_with_its_call_as_it_is_now() {
    let (gate, setup) = Gate::with_setup();
    let app = App::start_with(setup);
    let body = r#"{"tool":"gate","args":{}}"#;
    let first = accepted(&app.post("k", &[], body));
    let url = text(&first, "query_url");
    reaches(&app, url, 2);

    let again = app.post("k", &[], body);
    let running = accepted(&again);
    assert_eq!(running["status"], "running");
    assert_eq!(running["final"], false);
    assert_eq!((&running["attempt"], &running["version"]), (&json!(1), &json!(2)));
    assert_eq!(running["held"], Value::Null);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.header("location"), None);
    assert_eq!(again.header("etag"), Some("\"2\""));

    gate.open();
    reaches(&app, url, 3);
    for _ in 0..3 {
        let again = app.post("k", &[], body);
        let succeeded = found(&again);
        assert_eq!(succeeded["status"], "succeeded");
        assert_eq!(succeeded["final"], true);
        assert_eq!(succeeded["result"], true);
        assert_eq!(succeeded["attempt"], 1);
        assert_eq!(succeeded["call_id"], first["call_id"]);
        let effect = text(&first, "call_id").replace("c_", "eff_");
        assert_eq!(text(&succeeded, "effect_id"), effect);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.header("location"), None);
        assert_eq!(again.header("etag"), Some("\"3\""));
        assert_eq!(app.get(url, &[]).body, again.body);
        assert_eq!(app.get("/v1/tool-calls/by-key/k", &[]).body, again.body);
    }
}

#[test]
fn a_charge_gives_its_effect_and_its_result() {
    let app = App::start();
    let call = settle(&app, "k", CHARGE);
    let effect = text(&call, "effect_id");
    assert_eq!(call["result"], json!({"charged": 100, "effect_id": effect}));
    assert_eq!(call["error"], Value::Null);
    let stats = app.get("/stats", &[]);
    assert!(
        stats.text().starts_with(r#"{"calls":1,"effects":1,"by_status":{"succeeded":1},"#),
        "{}",
        stats.text()
    );
    assert!(text(&call, "updated_at") >= text(&call, "created_at"));
    assert_is_time(text(&call, "updated_at"));
}

#[test]
fn a_call_that_failed_for_good_is_found_and_stays_as_it_is() {
    let app = App::start();
    let body = r#"{"tool":"fail","args":{"message":"no such account"}}"#;
    let first = settle(&app, "k", body);
    for _ in 0..2 {
        let again = app.post("k", &[], body);
        let failed = found(&again);
        assert_eq!(failed, first);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!((&failed["status"], &failed["final"]), (&json!("failed"), &json!(true)));
        assert_eq!(
            failed["error"].to_string(),
            r#"{"code":"tool_failed","message":"no such account","retryable":false}"#
        );
        assert_eq!((&failed["result"], &failed["effect_id"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn a_call_that_may_be_retried_is_pending_again_under_its_key() {
    let app = App::start();
    let body = r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#;
    let failed = settle(&app, "k", body);
    assert_eq!((&failed["status"], &failed["final"]), (&json!("failed"), &json!(false)));
    assert_eq!(failed["error"]["retryable"], true);

    let retried = app.post("k", &[], body);
    let pending = accepted(&retried);
    assert_eq!((&pending["status"], &pending["attempt"]), (&json!("pending"), &json!(1)));
    assert_eq!(pending["error"], Value::Null);
    assert_eq!(retried.header("idempotent-replayed"), Some("false"));
    assert_eq!(retried.header("location"), None);

    let succeeded = settle(&app, "k", body);
    assert_eq!(succeeded["call_id"], failed["call_id"]);
    assert_eq!((&succeeded["status"], &succeeded["attempt"]), (&json!("succeeded"), &json!(2)));
    assert_eq!(succeeded["result"], json!({"failed_attempts": 1}));
}

#[test]
fn a_call_without_attempts_left_is_final_and_keeps_its_cause() {
    let settings = Settings { max_attempts: 2, workers: NonZeroUsize::MIN, ..Settings::default() };
    let app = App::start_with(Setup { settings, ..Setup::default() });
    let body = r#"{"tool":"fail","args":{"retryable":true}}"#;
    assert_eq!(settle(&app, "k", body)["error"]["code"], "tool_failed");
    for _ in 0..3 {
        let exhausted = settle(&app, "k", body);
        assert_eq!((&exhausted["final"], &exhausted["attempt"]), (&json!(true), &json!(2)));
        assert_eq!(super::members(&exhausted["error"]), ["code", "message", "retryable", "cause"]);
        assert_eq!(exhausted["error"]["code"], "retry_exhausted");
        assert_eq!(exhausted["error"]["retryable"], false);
        assert_eq!(exhausted["error"]["cause"], "tool_failed");
    }
    let again = app.post("k", &[], body);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(found(&again)["version"], 6);
}

#[test]
fn a_known_key_with_another_request_conflicts_and_shows_paths_but_no_values() {
    let app = App::start();
    let first = r#"{"tool":"charge","args":{"amount":4711,"card":{"number":"4000-secret"},"items":[1,2]}}"#;
    let before = settle(&app, "k", first);
    let cases = [
        (
            r#"{"tool":"charge","args":{"amount":4712,"card":{"number":"4000-secret"},"items":[1,2]}}"#,
            vec!["args.amount"],
        ),
        (
            r#"{"tool":"charge","args":{"amount":4711,"card":{"number":"4111-hidden"},"items":[1,9]}}"#,
            vec!["args.card.number", "args.items[1]"],
        ),
        (r#"{"tool":"charge","args":{"amount":4711}}"#, vec!["args.card", "args.items"]),
        (
            r#"{"tool":"sleep","args":{"amount":4711,"card":{"number":"4000-secret"},"items":[1,2]}}"#,
            vec!["tool"],
        ),
        (
            r#"{"tool":"sleep","args":{"amount":4711,"card":{"number":"4000-secret"}}}"#,
            vec!["tool", "args.items"],
        ),
        // What could not run is told that its key is taken all the same: the key is what matters.
        (
            r#"{"tool":"charge","args":{"amount":"4711","card":{"number":"4000-secret"},"items":[1,2]}}"#,
            vec!["args.amount"],
        ),
        (
            r#"{"tool":"gone","args":{"amount":4711,"card":{"number":"4000-secret"},"items":[1,2]}}"#,
            vec!["tool"],
        ),
    ];
    for (body, differs) in cases {
        let answer = app.post("k", &["Prefer: wait=5"], body);
        let problem = refused(&answer, 409, "idempotency_conflict");
        assert_eq!(problem["differs"], json!(differs), "{body}");
        assert_eq!(problem["retryable"], false);
        assert_eq!(answer.header("retry-after"), None);
        for path in differs {
            assert!(text(&problem, "detail").contains(path), "{problem}");
        }
        for value in ["4711", "4712", "secret", "hidden"] {
            assert!(!answer.text().contains(value), "{} shows {value}", answer.text());
        }
    }
    assert_eq!(found(&app.get("/v1/tool-calls/by-key/k", &[])), before);
    assert_eq!(calls(&app), 1);
}

#[test]
fn a_conflict_names_at_most_sixteen_members() {
    let app = App::start();
    let many = |value: u32| {
        let args: Vec<_> = (0..100).map(|n| format!(r#""m{n:03}":{value}"#)).collect();
        format!(r#"{{"tool":"sleep","args":{{{}}}}}"#, args.join(","))
    };
    accepted(&app.post("k", &[], many(1)));
    let problem = refused(&app.post("k", &[], many(2)), 409, "idempotency_conflict");
    assert_eq!(problem["differs"].as_array().map(Vec::len), Some(16));
}

#[test]
fn who_asks_is_stored_with_the_first_request_and_no_part_of_it() {
    let app = App::start();
    let from = |client: &str| format!(r#"{{"tool":"charge","args":{{"amount":100}}{client}}}"#);
    let first = settle(&app, "k", &from(r#","client_id":"old","seq":7"#));
    for other in
        ["", r#","client_id":"new","seq":8"#, r#","client_id":null,"seq":null"#, r#","seq":9007199254740991"#]
    {
        assert_eq!(settle(&app, "k", &from(other)), first, "{other}");
    }
    assert_eq!((&first["client_id"], &first["seq"]), (&json!("old"), &json!(7)));
    let nobody = settle(&app, "k2", CHARGE);
    assert_eq!((&nobody["client_id"], &nobody["seq"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_is_not_there_is_not_found_by_id_or_key() {
    let app = App::start();
    let call = settle(&app, "k", CHARGE);
    let id = text(&call, "call_id");
    let long = format!("/v1/tool-calls/{}", "a".repeat(20_000));
    let cases = [
        "/v1/tool-calls/c_00000000000000000000000000000000",
        "/v1/tool-calls/c_",
        "/v1/tool-calls/1",
        "/v1/tool-calls/by-key",
        "/v1/tool-calls/%FF",
        "/v1/tool-calls/%zz",
        "/v1/tool-calls/%00",
        "/v1/tool-calls/..",
        "/v1/tool-calls/by-key/K",
        "/v1/tool-calls/by-key/unknown",
        "/v1/tool-calls/c_00000000000000000000000000000000/events",
        "/v1/tool-calls/nothing/events",
        "/v1/tool-calls/%FF/events",
        &long,
        &format!("/v1/tool-calls/{}", id.to_uppercase()),
        &format!("/v1/tool-calls/{id}0"),
        &format!("/v1/tool-calls/%20{id}"),
    ];
    for path in cases {
        let problem = refused(&app.get(path, &[]), 404, "not_found");
        assert!(text(&problem, "detail").contains("not accepted so far"), "{path}: {problem}");
        assert_eq!(problem["retryable"], false, "{path}");
    }
    // Nobody waits for what is not there.
    refused(&app.get("/v1/tool-calls/by-key/unknown", &["Prefer: wait=60"]), 404, "not_found");
    found(&app.get(&format!("/v1/tool-calls/{}", id.replace('_', "%5F")), &[]));
}

#[test]
fn an_id_longer_than_a_head_may_be_is_refused_without_harm() {
    let app = App::start();
    let answer = app.get(&format!("/v1/tool-calls/{}", "a".repeat(1 << 20)), &[]);
    assert!(matches!(answer.status, 414 | 431), "{answer:?}");
    assert_eq!(app.get("/livez", &[]).status, 200);
}

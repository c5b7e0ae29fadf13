//! Does a held call end as somebody says who knows, and only then?

use std::sync::Arc;

use callonce::engine::Store;
use callonce::testing::app::App;
use callonce::testing::raw_http::{Answer, request};
use serde_json::{Value, json};

use super::tools::{Unsure, setup_with};
use super::{CHARGE, accepted, found, reaches, refused, settle, text};

const UNSURE: &str = r#"{"tool":"unsure","args":{}}"#;

/// A call that is held, by where it is found.
fn held<S: Store>(app: &App<S>, key: &str) -> String {
    let call = accepted(&app.post(key, &["Prefer: wait=60"], UNSURE));
    assert_eq!(text(&call["held"], "reason"), "outcome_unknown");
    text(&call, "query_url").into()
}

fn resolve<S: Store>(app: &App<S>, url: &str, body: impl AsRef<[u8]>) -> Answer {
    let json = ["Content-Type: application/json"];
    app.send(request("POST", &format!("{url}/resolve"), &json, body.as_ref()))
}

fn says(outcome: &str) -> String {
    json!({"outcome": outcome, "who": "ops@example.com", "evidence": "ticket 4711"}).to_string()
}

/// The last event of the call.
fn last_event<S: Store>(app: &App<S>, url: &str) -> Value {
    let events = found(&app.get(&format!("{url}/events"), &[]));
    events["events"].as_array().and_then(|events| events.last()).expect("there are events").clone()
}

#[test]
fn what_happened_is_a_success_with_one_effect_and_its_grounds_in_the_log() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let url = held(&app, "k");
    let body = r#"{"outcome":"happened","result":{"n":9007199254740993},"who":"ops@example.com","evidence":"ticket 4711"}"#;
    let call = found(&resolve(&app, &url, body));
    assert_eq!((text(&call, "status"), &call["final"]), ("succeeded", &Value::Bool(true)));
    assert_eq!(call["result"].to_string(), r#"{"n":9007199254740993}"#);
    assert_eq!(call["held"], Value::Null);
    assert_eq!(text(&call, "effect_id"), text(&call, "call_id").replacen("c_", "eff_", 1));
    let event = last_event(&app, &url);
    assert_eq!((text(&event, "event"), text(&event, "by")), ("succeeded", "ops@example.com"));
    assert_eq!(text(&event, "evidence"), "ticket 4711");
    let stats = app.get("/stats", &[]).json();
    assert_eq!((&stats["effects"], &stats["held"]), (&json!(1), &json!(0)));
    // Whoever asks again under its key gets what was settled.
    assert_eq!(found(&app.post("k", &[], UNSURE)), call);
}

#[test]
fn a_result_that_nobody_knows_is_null() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let call = found(&resolve(&app, &held(&app, "k"), says("happened")));
    assert_eq!((text(&call, "status"), &call["result"]), ("succeeded", &Value::Null));
}

#[test]
fn what_did_not_happen_runs_again_under_the_same_effect_id() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let url = held(&app, "k");
    let before = text(&found(&app.get(&url, &[]))["held"], "effect_id").to_owned();
    let call = found(&resolve(&app, &url, says("not_happened")));
    assert_eq!((text(&call, "status"), &call["attempt"]), ("pending", &json!(1)));
    // reset, claimed, and held again by its second attempt.
    let again = reaches(&app, &url, 6);
    assert_eq!((&again["held"]["attempt"], text(&again["held"], "effect_id")), (&json!(2), before.as_str()));
}

#[test]
fn what_is_given_up_has_failed_for_good() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let call = found(&resolve(&app, &held(&app, "k"), says("abandoned")));
    assert_eq!((text(&call, "status"), &call["final"]), ("failed", &Value::Bool(true)));
    assert_eq!(text(&call["error"], "code"), "abandoned");
    assert_eq!(app.get("/stats", &[]).json()["effects"], 0);
}

#[test]
fn only_a_held_call_is_settled_and_only_once() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let url = held(&app, "k");
    found(&resolve(&app, &url, says("happened")));
    let done = settle(&app, "charged", CHARGE);
    let failed = settle(&app, "failed", r#"{"tool":"fail","args":{"retryable":true}}"#);
    for url in [url.as_str(), text(&done, "query_url"), text(&failed, "query_url")] {
        let before = found(&app.get(url, &[]));
        let problem = refused(&resolve(&app, url, says("abandoned")), 409, "not_held");
        assert_eq!(problem["retryable"], false);
        assert_eq!(found(&app.get(url, &[])), before, "nothing changed");
    }
    for nobody in ["c_00000000000000000000000000000000", "x"] {
        refused(&resolve(&app, &format!("/v1/tool-calls/{nobody}"), says("abandoned")), 404, "not_found");
    }
}

#[test]
fn of_many_who_settle_it_at_once_one_does() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let url = held(&app, "k");
    let statuses = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|n| {
                let outcome = if n % 2 == 0 { "happened" } else { "abandoned" };
                let (app, url) = (&app, &url);
                scope.spawn(move || resolve(app, url, says(outcome)).status)
            })
            .collect();
        all.into_iter().map(|one| one.join().expect("it does not panic")).collect::<Vec<_>>()
    });
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    assert_eq!((count(200), count(409)), (1, 7), "{statuses:?}");
}

#[test]
fn a_settlement_that_says_too_little_or_too_much_is_refused_with_the_place() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let url = held(&app, "k");
    let long = "x".repeat(4097);
    let cases = [
        (String::new(), "body"),
        ("[]".into(), "expected an object"),
        (r#"{"outcome":"happened","who":"me"}"#.into(), "`evidence` is missing"),
        (r#"{"outcome":"happened","evidence":"it"}"#.into(), "`who` is missing"),
        (r#"{"who":"me","evidence":"it"}"#.into(), "`outcome` is missing"),
        (r#"{"outcome":"maybe","who":"me","evidence":"it"}"#.into(), "`maybe`"),
        (r#"{"outcome":true,"who":"me","evidence":"it"}"#.into(), "`outcome` is"),
        (r#"{"outcome":"happened","who":" ","evidence":"it"}"#.into(), "`who` is empty"),
        (r#"{"outcome":"happened","who":"me","evidence":7}"#.into(), "`evidence` is"),
        (format!(r#"{{"outcome":"happened","who":"me","evidence":"{long}"}}"#), "at most 4096"),
        (r#"{"outcome":"abandoned","result":1,"who":"me","evidence":"it"}"#.into(), "`result`"),
        (r#"{"outcome":"happened","who":"me","evidence":"it","why":1}"#.into(), "`why`"),
        (r#"{"outcome":"happened","outcome":"abandoned","who":"me","evidence":"it"}"#.into(), "outcome"),
    ];
    for (body, says) in cases {
        let problem = refused(&resolve(&app, &url, &body), 400, "bad_request");
        assert!(text(&problem, "detail").contains(says), "{body}: {problem}");
    }
    let plain = app.send(request("POST", &format!("{url}/resolve"), &[], says("happened").as_bytes()));
    refused(&plain, 415, "bad_request");
    let get = app.get(&format!("{url}/resolve"), &[]);
    refused(&get, 405, "bad_request");
    assert_eq!(get.header("allow"), Some("POST"));
    assert_eq!(found(&app.get(&url, &[]))["version"], 3, "nothing changed");
}

//! Does it speak HTTP as promised? The whole server over one SQLite file, asked byte by byte.

mod agents;
mod answers;
mod bodies;
mod canonical;
mod faults;
mod hygiene;
mod json_texts;
mod keys;
mod listing;
mod methods;
mod metrics;
mod mutations;
mod naughty;
mod places;
mod resolving;
mod timeline;
mod tools;
mod uploads;
mod waiting;

use callonce::engine::Store;
use callonce::testing::app::App;
use callonce::testing::raw_http::Answer;
use serde_json::Value;

/// A call with a side effect that works.
const CHARGE: &str = r#"{"tool":"charge","args":{"amount":100}}"#;

/// The members of this JSON object, in the order in which they came.
fn members(object: &Value) -> Vec<&str> {
    object.as_object().unwrap_or_else(|| panic!("no object: {object}")).keys().map(String::as_str).collect()
}

fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object[member].as_str().unwrap_or_else(|| panic!("{member} is no string in {object}"))
}

/// Checks that `answer` is a problem document with this status and code, whole and in order.
#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
    assert_eq!(answer.header("idempotent-replayed"), None, "{answer:?}");
    assert_eq!(answer.header("location"), None, "{answer:?}");
    let problem = answer.json();
    let always = ["type", "title", "status", "detail", "retryable", "error"];
    let found: Vec<_> = members(&problem).into_iter().filter(|member| *member != "differs").collect();
    assert_eq!(found, always, "{problem}");
    assert_eq!(text(&problem, "type"), format!("urn:callonce:error:{code}"));
    assert_eq!(problem["status"], status);
    assert!(!text(&problem, "title").is_empty() && !text(&problem, "detail").is_empty(), "{problem}");
    assert_eq!(members(&problem["error"]), ["code", "message"]);
    assert_eq!(text(&problem["error"], "code"), code);
    assert_eq!(problem["error"]["message"], problem["detail"]);
    problem
}

/// The call in a 202.
#[track_caller]
fn accepted(answer: &Answer) -> Value {
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
    assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
    answer.json()
}

/// The call in a 200.
#[track_caller]
fn found(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
    assert_eq!(answer.header("retry-after"), None, "{answer:?}");
    answer.json()
}

/// Sends a call and waits until it has succeeded or failed; the call as it is then.
#[track_caller]
fn settle<S: Store>(app: &App<S>, key: &str, body: &str) -> Value {
    found(&app.post(key, &["Prefer: wait=60"], body))
}

/// Waits until the call has this version.
#[track_caller]
fn reaches<S: Store>(app: &App<S>, url: &str, version: u64) -> Value {
    for before in 1..version {
        let seen = format!("If-None-Match: \"{before}\"");
        app.get(url, &[seen.as_str(), "Prefer: wait=60"]);
    }
    let call = found(&app.get(url, &[]));
    assert_eq!(call["version"], version, "{call}");
    call
}

/// How many keys have been taken.
fn calls<S: Store>(app: &App<S>) -> u64 {
    app.get("/stats", &[]).json()["calls"].as_u64().expect("a number")
}

//! Does the events route tell what happened to a call, in order, and who said so?

use std::sync::Arc;

use callonce::testing::app::App;
use serde_json::{Value, json};

use super::tools::{Unsure, setup_with};
use super::{CHARGE, accepted, found, members, settle, text};

/// The events of a call; checks what holds for those of any call.
fn events(answer: &callonce::testing::raw_http::Answer) -> Vec<Value> {
    let document = found(answer);
    assert_eq!(members(&document), ["events"]);
    let events = document["events"].as_array().expect("a list").clone();
    let mut before = (0, String::new());
    for (index, event) in events.iter().enumerate() {
        assert_eq!(
            members(event),
            ["position", "version", "at", "event", "attempt", "detail", "by", "evidence"]
        );
        assert_eq!(event["version"], index as u64 + 1);
        let here = (event["position"].as_u64().expect("a number"), text(event, "at").to_owned());
        assert!(here > before, "{here:?} after {before:?}");
        before = here;
    }
    events
}

/// Event, attempt, detail and by, of each event.
fn gist(events: &[Value]) -> Vec<(&str, Value, Option<&str>, Option<&str>)> {
    events
        .iter()
        .map(|event| {
            (text(event, "event"), event["attempt"].clone(), event["detail"].as_str(), event["by"].as_str())
        })
        .collect()
}

#[test]
fn a_charge_is_created_claimed_and_succeeds() {
    let app = App::start();
    let call = settle(&app, "k", CHARGE);
    let events = events(&app.get(&format!("{}/events", text(&call, "query_url")), &[]));
    let (owner, effect) = (events[1]["detail"].as_str(), call["effect_id"].as_str());
    assert!(owner.is_some_and(|owner| owner.starts_with(&format!("{}:", std::process::id()))), "{owner:?}");
    assert_eq!(
        gist(&events),
        [
            ("created", Value::Null, Some("charge"), None),
            ("claimed", json!(1), owner, None),
            ("succeeded", json!(1), effect, Some("attempt")),
        ]
    );
    assert_eq!(events[0]["at"], call["created_at"]);
    assert_eq!(events[2]["at"], call["updated_at"]);
    let stats = app.get("/stats", &[]).json();
    assert_eq!(stats["position"], events[2]["position"]);
}

#[test]
fn a_retry_shows_who_asked_for_it() {
    let app = App::start();
    let body = r#"{"tool":"fail","args":{"retryable":true,"times":1}}"#;
    settle(&app, "k", body);
    accepted(&app.post("k", &[], body));
    let call = settle(&app, "k", body);
    let events = events(&app.get(&format!("{}/events", text(&call, "query_url")), &[]));
    let gist = gist(&events);
    let names: Vec<_> = gist.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, ["created", "claimed", "failed", "retry_reset", "claimed", "succeeded"]);
    assert_eq!(gist[2], ("failed", json!(1), Some("tool_failed"), Some("attempt")));
    assert_eq!(gist[3], ("retry_reset", Value::Null, Some("client"), Some("client")));
    assert_eq!(gist[4].1, json!(2));
}

#[test]
fn a_held_call_shows_what_was_lost() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    let answer = app.post("k", &["Prefer: wait=60"], r#"{"tool":"unsure","args":{}}"#);
    let call = accepted(&answer);
    let events = events(&app.get(&format!("{}/events", text(&call, "query_url")), &[]));
    let names: Vec<_> = events.iter().map(|event| text(event, "event")).collect();
    assert_eq!(names, ["created", "claimed", "recover"]);
    assert_eq!(events[2]["detail"], events[1]["detail"]);
}

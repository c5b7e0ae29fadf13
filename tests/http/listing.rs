//! Does a list show the calls that were asked for, newest first, each once?

use std::sync::Arc;

use callonce::engine::Store;
use callonce::testing::app::App;
use serde_json::Value;

use super::tools::{Unsure, setup_with};
use super::{accepted, found, members, refused, settle, text};

fn sleep(client: &str) -> String {
    format!(r#"{{"tool":"sleep","args":{{}},"client_id":"{client}"}}"#)
}

/// The keys on one page, and where the next one begins.
fn page<S: Store>(app: &App<S>, query: &str) -> (Vec<String>, Option<String>) {
    let list = found(&app.get(&format!("/v1/tool-calls{query}"), &[]));
    assert_eq!(members(&list), ["calls", "next_cursor"]);
    let calls = list["calls"].as_array().expect("a list");
    let keys = calls.iter().map(|call| text(call, "idem_key").to_owned()).collect();
    (keys, list["next_cursor"].as_str().map(str::to_owned))
}

fn keys<S: Store>(app: &App<S>, query: &str) -> Vec<String> {
    let (keys, next) = page(app, query);
    assert_eq!(next, None, "{query}");
    keys
}

#[test]
fn an_empty_list_has_its_members_too() {
    let app = App::start();
    assert_eq!(app.get("/v1/tool-calls", &[]).text(), r#"{"calls":[],"next_cursor":null}"#);
}

#[test]
fn a_list_shows_each_call_as_it_is_shown_alone() {
    let app = App::start();
    let one = settle(&app, "k1", r#"{"tool":"charge","args":{"amount":9007199254740993}}"#);
    let two = settle(&app, "k2", r#"{"tool":"fail","args":{}}"#);
    let list = found(&app.get("/v1/tool-calls", &[]));
    assert_eq!(list["calls"], Value::from(vec![two, one]));
}

#[test]
fn a_page_of_large_calls_ends_early_and_the_next_one_goes_on() {
    let app = App::start();
    let note = "x".repeat(400_000);
    let sent: Vec<_> = (0..8).map(|number| format!("k{number}")).collect();
    for key in &sent {
        settle(&app, key, &format!(r#"{{"tool":"sleep","args":{{"note":"{note}"}}}}"#));
    }
    settle(&app, "small", r#"{"tool":"sleep","args":{}}"#);
    let (mut listed, mut pages, mut query) = (vec![], vec![], "?limit=500".to_owned());
    loop {
        let (keys, next) = page(&app, &query);
        pages.push(keys.len());
        listed.extend(keys);
        let Some(next) = next else { break };
        query = format!("?limit=500&cursor={next}");
    }
    // A page is full once it has reached a mebibyte.
    assert_eq!(pages, [4, 3, 2]);
    listed.reverse();
    assert_eq!(listed, [sent, vec!["small".to_owned()]].concat());
    let (keys, next) = page(&app, "?limit=2");
    assert_eq!((keys.len(), next.is_some()), (2, true));
}

#[test]
fn filters_let_through_what_they_name_and_can_be_joined() {
    let app = App::start_with(setup_with(Arc::new(Unsure)));
    settle(&app, "charged", r#"{"tool":"charge","args":{"amount":1},"client_id":"a"}"#);
    settle(&app, "failed", r#"{"tool":"fail","args":{},"client_id":"a"}"#);
    settle(&app, "again", r#"{"tool":"fail","args":{"retryable":true},"client_id":"b"}"#);
    accepted(&app.post("held", &["Prefer: wait=60"], r#"{"tool":"unsure","args":{},"client_id":"b"}"#));
    settle(&app, "odd", r#"{"tool":"sleep","args":{},"client_id":"x&y=z +%\u00e9\u0000"}"#);
    let cases: &[(&str, &[&str])] = &[
        ("", &["odd", "held", "again", "failed", "charged"]),
        ("?", &["odd", "held", "again", "failed", "charged"]),
        ("?status=succeeded", &["odd", "charged"]),
        ("?status=failed", &["again", "failed"]),
        ("?status=running", &["held"]),
        ("?status=pending", &[]),
        ("?held=true", &["held"]),
        ("?held=false", &["odd", "again", "failed", "charged"]),
        ("?tool=fail", &["again", "failed"]),
        ("?tool=nothing", &[]),
        ("?client_id=a", &["failed", "charged"]),
        ("?client_id=A", &[]),
        ("?client_id=x%26y%3Dz+%2B%25%C3%A9%00", &["odd"]),
        ("?client_id=x%26y%3Dz%20%2b%25%c3%a9%00", &["odd"]),
        ("?client_id=b&status=failed&tool=fail&held=false&limit=500", &["again"]),
        ("?client_id=a&tool=unsure", &[]),
        ("?stat%75s=running", &["held"]),
    ];
    for (query, expected) in cases {
        assert_eq!(keys(&app, query), *expected, "{query}");
    }
}

#[test]
fn pages_follow_each_other_without_a_gap_or_a_repeat() {
    let app = App::start();
    let sent: Vec<String> = (0..23).map(|n| format!("k{n:02}")).collect();
    for key in &sent {
        accepted(&app.post(key, &[], sleep("a")));
    }
    for limit in [1, 2, 5, 22, 23, 24, 500] {
        let (mut seen, mut query) = (vec![], format!("?limit={limit}"));
        loop {
            let (keys, next) = page(&app, &query);
            assert!(keys.len() <= limit && !keys.is_empty(), "{query}");
            seen.extend(keys);
            let Some(cursor) = next else { break };
            // What comes while somebody reads is newer than all pages to come.
            accepted(&app.post(&format!("late-{limit}-{}", seen.len()), &[], sleep("b")));
            query = format!("?limit={limit}&cursor={cursor}");
        }
        seen.retain(|key| !key.starts_with("late"));
        assert!(seen.iter().eq(sent.iter().rev()), "{limit}: {seen:?}");
    }
    let (newest, next) = page(&app, "?client_id=a&limit=20");
    assert_eq!(newest.len(), 20);
    let rest = keys(&app, &format!("?client_id=a&limit=20&cursor={}", next.expect("there are three more")));
    assert_eq!(rest, ["k02", "k01", "k00"]);
}

#[test]
fn a_page_holds_fifty_calls_if_nothing_is_said() {
    let app = App::start();
    for n in 0..51 {
        accepted(&app.post(&format!("k{n}"), &[], sleep("a")));
    }
    let (newest, next) = page(&app, "");
    assert_eq!((newest.len(), newest[0].as_str()), (50, "k50"));
    assert_eq!(keys(&app, &format!("?cursor={}", next.expect("there is one more"))), ["k0"]);
}

#[test]
fn a_query_that_cannot_be_meant_is_refused_by_name() {
    let app = App::start();
    let long = format!("?client_id={}", "c".repeat(256));
    for (query, named) in [
        ("?status=done", "status"),
        ("?status=", "status"),
        ("?status", "status"),
        ("?status=PENDING", "status"),
        ("?status=pending,failed", "status"),
        ("?held=yes", "held"),
        ("?held=1", "held"),
        ("?held", "held"),
        ("?limit=0", "limit"),
        ("?limit=501", "limit"),
        ("?limit=-1", "limit"),
        ("?limit=%2B5", "limit"),
        ("?limit=5.0", "limit"),
        ("?limit=99999999999999999999999", "limit"),
        ("?limit=ten", "limit"),
        ("?limit=", "limit"),
        ("?cursor=", "cursor"),
        ("?cursor=1", "cursor"),
        ("?cursor=c_zz", "cursor"),
        ("?cursor=null", "cursor"),
        ("?tool=", "tool"),
        ("?tool=a%20b", "tool"),
        ("?client_id=", "client_id"),
        (&long, "client_id"),
        ("?state=pending", "state"),
        ("?Status=pending", "Status"),
        ("?status=failed&status=failed", "status"),
        ("?status=failed&stat%75s=pending", "status"),
        ("?tool=fail&offset=5", "offset"),
        ("?client_id=%FF", "%FF"),
        ("?client_id=%zz", "%zz"),
        ("?client_id=100%", "100%"),
        ("?%FF=1", "%FF"),
        ("?=1", "query parameter"),
        ("?'OR'1", "'OR'1"),
    ] {
        let problem = refused(&app.get(&format!("/v1/tool-calls{query}"), &[]), 400, "bad_request");
        assert!(text(&problem, "detail").contains(named), "{query}: {problem}");
    }
}

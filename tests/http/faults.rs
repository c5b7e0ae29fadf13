//! When the store or a tool breaks, is the client told the kind and nothing more, and does all go on afterwards?

use std::sync::Arc;
use std::time::Duration;

use callonce::engine::{Settings, StoreError};
use callonce::store::memory::MemoryStore;
use callonce::testing::app::{App, Setup};
use callonce::testing::faulty_store::{Faults, FaultyStore};
use callonce::testing::raw_http::{Answer, request};

use super::tools::{Clumsy, setup_with};
use super::{CHARGE, accepted, calls, found, refused, settle, text};

/// What a store says to its log: nothing of it may leave the process.
const FAULT: &str = "/srv/data/callonce.db: UPDATE calls SET status = ?1: disk I/O error (code 10)";
const SECRETS: [&str; 7] = ["/srv", "callonce.db", "UPDATE", "SET", "disk", "code 10", "?1"];

fn start(setup: Setup) -> (App<FaultyStore<MemoryStore>>, Faults) {
    let (store, faults) = FaultyStore::new(MemoryStore::default());
    (App::over(store, setup), faults)
}

/// The refusal is of this kind, may be repeated, and shows nothing of the inside.
#[track_caller]
fn failed(answer: &Answer, status: u16, code: &str, retry_after: Option<&str>) {
    let problem = refused(answer, status, code);
    assert_eq!(problem["retryable"], true, "{problem}");
    assert_eq!(answer.header("retry-after"), retry_after, "{problem}");
    for secret in SECRETS {
        assert!(!answer.text().contains(secret), "{secret}: {problem}");
    }
}

#[test]
fn a_store_that_cannot_write_accepts_nothing_and_still_reads() {
    let (app, faults) = start(Setup::default());
    let before = settle(&app, "before", CHARGE);
    let kinds = [
        (StoreError::Full(FAULT.into()), 507, "storage_full", Some("5")),
        (StoreError::Unavailable(FAULT.into()), 503, "unavailable", Some("5")),
        (StoreError::Corrupt(FAULT.into()), 500, "internal", None),
    ];
    for (fault, status, code, retry_after) in kinds {
        faults.fail_appends(Some(fault));
        for headers in [&[][..], &["Prefer: wait=60"]] {
            failed(&app.post(code, headers, CHARGE), status, code, retry_after);
        }
        assert_eq!(found(&app.get("/v1/tool-calls/by-key/before", &[])), before);
        refused(&app.get(&format!("/v1/tool-calls/by-key/{code}"), &[]), 404, "not_found");
        assert_eq!(app.get("/livez", &[]).status, 200);
        faults.fail_appends(None);
        settle(&app, code, CHARGE);
        assert_eq!(app.get("/readyz", &[]).status, 200);
    }
    assert_eq!(calls(&app), 4);
}

#[test]
fn a_store_that_cannot_read_shows_nothing_wrong() {
    let (app, faults) = start(Setup::default());
    let call = settle(&app, "k", CHARGE);
    let url = text(&call, "query_url");
    let reads =
        [url, &format!("{url}/events"), "/v1/tool-calls/by-key/k", "/v1/tool-calls", "/stats", "/metrics"];
    let kinds = [
        (StoreError::Unavailable(FAULT.into()), 503, "unavailable", Some("5")),
        (StoreError::Corrupt(FAULT.into()), 500, "internal", None),
    ];
    for (fault, status, code, retry_after) in kinds {
        faults.fail_reads(Some(fault));
        for path in reads {
            failed(&app.get(path, &[]), status, code, retry_after);
            failed(&app.get(path, &["Prefer: wait=60"]), status, code, retry_after);
        }
        // A tool that is not there needs a look whether the key is known.
        failed(&app.post("k", &[], r#"{"tool":"gone","args":{}}"#), status, code, retry_after);
        let ready = app.get("/readyz", &[]);
        assert!(matches!(ready.status, 500 | 503), "{ready:?}");
        for secret in SECRETS {
            assert!(!ready.text().contains(secret), "{secret}: {ready:?}");
        }
        assert_eq!(app.get("/livez", &[]).status, 200);
        faults.fail_reads(None);
        for path in reads {
            assert_eq!(app.get(path, &[]).status, 200, "{path}");
        }
    }
    assert_eq!(found(&app.get(url, &[])), call);
}

#[test]
fn with_too_much_under_way_a_request_is_sent_back_before_anything_is_written() {
    const LIMIT: usize = 3;
    let settings = Settings { max_submits: LIMIT, submit_patience: Duration::ZERO, ..Settings::default() };
    let (app, faults) = start(Setup { settings, ..Setup::default() });
    let known = settle(&app, "known", CHARGE);
    let arrived = faults.arrived();
    faults.stall();
    let mut under_way: Vec<_> = (0..LIMIT)
        .map(|n| {
            let mut connection = app.connect();
            let key = format!("Idempotency-Key: k{n}");
            let headers = [key.as_str(), "Content-Type: application/json"];
            connection.send(request("POST", "/v1/tool-calls", &headers, CHARGE.as_bytes()));
            connection
        })
        .collect();
    app.wait_for(faults.wait_for_arrivals(arrived + LIMIT));
    for key in ["more", "known", "more"] {
        failed(&app.post(key, &["Prefer: wait=60"], CHARGE), 503, "overloaded", Some("1"));
    }
    assert_eq!(faults.arrived(), arrived + LIMIT);
    // Who only looks is not turned away.
    assert_eq!(found(&app.get("/v1/tool-calls/by-key/known", &[])), known);
    assert_eq!(calls(&app), 1);
    let metrics = app.get("/metrics", &[]);
    assert!(metrics.text().contains("\ncallonce_overloads_total 3\n"), "{}", metrics.text());

    faults.release();
    for connection in &mut under_way {
        accepted(&connection.answer());
    }
    refused(&app.get("/v1/tool-calls/by-key/more", &[]), 404, "not_found");
    settle(&app, "more", CHARGE);
}

#[test]
fn a_request_waits_for_its_turn_rather_than_be_sent_back() {
    // Longer than any test may take: what is accepted here was not refused and sent again.
    let patience = Duration::from_secs(3600);
    let settings = Settings { max_submits: 1, submit_patience: patience, ..Settings::default() };
    let (app, faults) = start(Setup { settings, ..Setup::default() });
    let arrived = faults.arrived();
    faults.stall();
    let send = |key: &str| {
        let mut connection = app.connect();
        let key = format!("Idempotency-Key: {key}");
        let headers = [key.as_str(), "Content-Type: application/json"];
        connection.send(request("POST", "/v1/tool-calls", &headers, CHARGE.as_bytes()));
        connection
    };
    let mut first = send("first");
    app.wait_for(faults.wait_for_arrivals(arrived + 1));
    let mut waiting: Vec<_> = ["a", "b", "c"].map(send).into();
    // Who only looks need not wait, and is answered after those were read.
    assert_eq!(app.get("/livez", &[]).status, 200);
    assert_eq!(faults.arrived(), arrived + 1, "one at a time");
    faults.release();
    accepted(&first.answer());
    for connection in &mut waiting {
        accepted(&connection.answer());
    }
    assert!(app.get("/metrics", &[]).text().contains("\ncallonce_overloads_total 0\n"));
}

#[test]
fn a_tool_that_panics_is_a_fault_of_the_server_and_of_no_other_request() {
    let setup = setup_with(Arc::new(Clumsy));
    let (app, _) = start(setup);
    let mut connection = app.connect();
    let headers = ["Idempotency-Key: k", "Content-Type: application/json"];
    for _ in 0..2 {
        let body = br#"{"tool":"clumsy","args":{}}"#;
        let answer = connection.exchange(request("POST", "/v1/tool-calls", &headers, body));
        failed(&answer, 500, "internal", None);
        assert!(!answer.text().contains("clumsy") && !answer.text().contains("panic"), "{answer:?}");
    }
    settle(&app, "k", CHARGE);
}

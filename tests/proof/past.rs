//! A call as it was, over HTTP.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use callonce::domain::id::Version;
use callonce::engine::tools::Registry;
use callonce::engine::{Engine, Past, Settings};
use callonce::http::limits::Limits;
use callonce::http::metrics::Metrics;
use callonce::http::router::router;
use callonce::store::Store as _;
use callonce::store::memory::MemoryStore;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::place::{CALLS, HELD, SECOND_TRY, call_id, every_state, id};

async fn store() -> MemoryStore {
    let store = MemoryStore::new();
    every_state(&store).await;
    store
}

fn engine(store: MemoryStore) -> Engine<MemoryStore> {
    Engine::new(store, Registry::samples(), Settings::default(), Arc::new(Metrics::default())).unwrap()
}

async fn get(store: MemoryStore, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String, Value) {
    let app = router(engine(store), Arc::new(Metrics::default()), Limits::default());
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = app.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status();
    let etag = response.headers().get("etag").map(|tag| tag.to_str().unwrap().to_owned()).unwrap_or_default();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, etag, serde_json::from_slice(&body).unwrap_or_default())
}

/// Every version of every call is what the fold of its events up to there makes.
#[tokio::test]
async fn each_version_is_the_fold_up_to_it() {
    let store = store().await;
    let engine = engine(store.clone());
    for n in 1..=CALLS {
        let history = store.history(call_id(n), Version::NONE, 100).await.unwrap();
        let mut then = callonce::store::Snapshot::absent();
        for recorded in &history {
            then = then.replay(recorded).unwrap();
            assert_eq!(engine.get_at(call_id(n), then.version).await.unwrap(), Past::Was(then.clone()));
        }
        assert_eq!(store.load(call_id(n)).await, Ok(Some(then.clone())), "the last is the call as it is");
        for asked in [Version(0), then.version.next(), Version(u64::MAX)] {
            let past = engine.get_at(call_id(n), asked).await.unwrap();
            assert_eq!(past, Past::NoVersion { asked, last: then.version });
        }
    }
    assert_eq!(engine.get_at(call_id(99), Version(1)).await.unwrap(), Past::NoCall);
}

#[tokio::test]
async fn a_version_is_answered_with_its_own_tag() {
    let store = store().await;
    let path = format!("/v1/tool-calls/{}", id(SECOND_TRY));
    let statuses = ["pending", "running", "pending", "running", "succeeded"];
    for (version, expected) in (1..).zip(statuses) {
        let (status, etag, call) = get(store.clone(), &format!("{path}?at={version}"), &[]).await;
        assert_eq!((status, etag), (StatusCode::OK, format!("\"{version}\"")));
        assert_eq!((&call["status"], &call["version"]), (&expected.into(), &version.into()));
        assert_eq!(call["result"].is_null(), expected != "succeeded");
    }
    let (_, _, then) = get(store.clone(), &format!("{path}?at=5"), &[]).await;
    let (_, _, now) = get(store.clone(), &path, &[]).await;
    assert_eq!(then, now);
    let by_key = format!("/v1/tool-calls/by-key/key-{SECOND_TRY}?at=2");
    let (status, _, call) = get(store.clone(), &by_key, &[]).await;
    assert_eq!((status, &call["version"]), (StatusCode::OK, &2.into()));
    let known = [("if-none-match", "\"2\"")];
    let (status, etag, _) = get(store.clone(), &format!("{path}?at=2"), &known).await;
    assert_eq!((status, etag.as_str()), (StatusCode::NOT_MODIFIED, "\"2\""));
    let (status, _, _) = get(store, &format!("{path}?at=3"), &known).await;
    assert_eq!(status, StatusCode::OK);
}

/// What was can never change, so there is nothing to wait for.
#[tokio::test]
async fn the_past_is_answered_at_once() {
    let path = format!("/v1/tool-calls/{}?at=1", id(HELD));
    let (status, _, call) = get(store().await, &path, &[("prefer", "wait=60")]).await;
    assert_eq!((status, &call["status"]), (StatusCode::OK, &"pending".into()));
}

#[tokio::test]
async fn a_version_that_is_not_there_is_404_and_nonsense_is_400() {
    let store = store().await;
    let path = format!("/v1/tool-calls/{}", id(SECOND_TRY));
    for (query, expected, says) in [
        ("at=6", StatusCode::NOT_FOUND, "it has versions 1 to 5"),
        ("at=0", StatusCode::NOT_FOUND, "it has versions 1 to 5"),
        ("at=18446744073709551615", StatusCode::NOT_FOUND, "it has versions 1 to 5"),
        ("at=18446744073709551616", StatusCode::BAD_REQUEST, "number of a version"),
        ("at=", StatusCode::BAD_REQUEST, "number of a version"),
        ("at", StatusCode::BAD_REQUEST, "number of a version"),
        ("at=-1", StatusCode::BAD_REQUEST, "number of a version"),
        ("at=%2B1", StatusCode::BAD_REQUEST, "number of a version"),
        ("at=+1", StatusCode::BAD_REQUEST, "number of a version"),
        ("at=1.0", StatusCode::BAD_REQUEST, "number of a version"),
        ("at=last", StatusCode::BAD_REQUEST, "number of a version"),
        ("at=1&at=2", StatusCode::BAD_REQUEST, "more than once"),
    ] {
        let (status, _, problem) = get(store.clone(), &format!("{path}?{query}"), &[]).await;
        assert_eq!(status, expected, "{query}: {problem}");
        let message = problem["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{query}: {message}");
    }
    let stranger = "/v1/tool-calls/c_ffffffffffffffffffffffffffffffff?at=1";
    let (status, _, problem) = get(store, stranger, &[]).await;
    assert_eq!((status, &problem["error"]["code"]), (StatusCode::NOT_FOUND, &"not_found".into()));
}

//! Clients that pause, trickle, do not read, or go: each step has its own limit.
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use callonce::http::limits::Limits;
use tokio::sync::Notify;

use super::{SHORT, Server, fact};

fn app() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

#[tokio::test]
async fn a_head_that_trickles_is_cut_and_disturbs_nobody() {
    let server = Server::start(app(), Limits { header_timeout: SHORT, ..Limits::default() }).await;
    let mut normal = server.client().await;
    for start in ["G", "GET / HTTP/1.1\r\nX: "] {
        let mut slow = server.client().await;
        slow.send(start).await;
        while slow.try_send("x").await.is_ok() {
            assert_eq!(normal.get("/").await.status, 200);
        }
        slow.is_closed_in_silence().await;
    }
}

#[tokio::test]
async fn a_head_that_stops_is_cut_on_a_new_and_on_a_used_connection() {
    let server = Server::start(app(), Limits { header_timeout: SHORT, ..Limits::default() }).await;
    for used in [false, true] {
        let mut client = server.client().await;
        if used {
            assert_eq!(client.get("/").await.status, 200);
        }
        client.send("GET / HT").await;
        client.is_closed_in_silence().await;
    }
}

#[tokio::test]
async fn an_idle_client_has_the_idle_time_not_the_time_for_a_head() {
    let server = Server::start(app(), Limits { header_timeout: SHORT, ..Limits::default() }).await;
    let mut silent = server.client().await;
    let mut used = server.client().await;
    assert_eq!(used.get("/").await.status, 200);
    // Somebody who came later has used up the time for a head: so it is over for those two as well.
    let mut slow = server.client().await;
    slow.send("GET / HT").await;
    slow.is_closed_in_silence().await;
    assert_eq!(used.get("/").await.status, 200);
    assert_eq!(silent.get("/").await.status, 200);
}

#[tokio::test]
async fn an_idle_client_is_let_go_before_and_after_its_first_request() {
    let server = Server::start(app(), Limits { idle_timeout: SHORT, ..Limits::default() }).await;
    for requests in 0..3 {
        let mut client = server.client().await;
        for _ in 0..requests {
            client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n").await;
        }
        for _ in 0..requests {
            assert_eq!(client.answer().await.status, 200);
        }
        client.is_closed_in_silence().await;
    }
}

#[tokio::test]
async fn a_handler_that_takes_its_time_is_not_cut() {
    let go_on = Arc::new(Notify::new());
    let slow = {
        let go_on = go_on.clone();
        get(move || async move {
            go_on.notified().await;
            "late"
        })
    };
    let limits =
        Limits { header_timeout: SHORT, idle_timeout: SHORT, write_timeout: SHORT, ..Limits::default() };
    let server = Server::start(app().route("/slow", slow), limits).await;
    let mut waiting = server.client().await;
    waiting.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n").await;
    for start in ["", "GET / HT"] {
        let mut other = server.client().await;
        other.send(start).await;
        other.is_closed_in_silence().await;
    }
    go_on.notify_one();
    assert_eq!(waiting.answer().await.body, b"late");
}

/// Bytes that tell when nobody holds them any more.
struct Told(Vec<u8>, Arc<Notify>);

impl AsRef<[u8]> for Told {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.1.notify_one();
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut() {
    // More than both kernels' buffers take.
    const LARGE: usize = 64 * 1024 * 1024;
    let dropped = Arc::new(Notify::new());
    let told = dropped.clone();
    let large = get(move || async move { Body::from(Bytes::from_owner(Told(vec![b'x'; LARGE], told))) });
    let server =
        Server::start(app().route("/large", large), Limits { write_timeout: SHORT, ..Limits::default() })
            .await;
    let mut client = server.client().await;
    client.send("GET /large HTTP/1.1\r\nHost: test\r\n\r\n").await;
    fact("the server lets the answer go", dropped.notified()).await;
    let received = client.rest().await.len();
    assert!(received < LARGE, "{received}");
}

#[tokio::test]
async fn a_client_that_goes_takes_its_request_with_it() {
    struct Gone(Arc<Notify>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (started, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let forever = {
        let (started, gone) = (started.clone(), gone.clone());
        get(move || async move {
            let _gone = Gone(gone);
            started.notify_one();
            std::future::pending::<()>().await;
        })
    };
    let server = Server::start(app().route("/forever", forever), Limits::default()).await;
    let mut client = server.client().await;
    client.send("GET /forever HTTP/1.1\r\nHost: test\r\n\r\n").await;
    fact("the handler runs", started.notified()).await;
    drop(client);
    fact("the handler is dropped", gone.notified()).await;
}

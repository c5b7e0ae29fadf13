//! The end of serving: what runs is finished, what is new is refused, what takes too long is cut.
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use callonce::http::accept::Drained;
use callonce::http::limits::Limits;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::{ABSURD, SHORT, Server, fact};

/// An application whose `/slow` says when it has started and answers when it is told to.
fn app() -> (Router, Arc<Notify>, Arc<Notify>) {
    let (started, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = {
        let (started, go_on) = (started.clone(), go_on.clone());
        move || async move {
            started.notify_one();
            go_on.notified().await;
            "done"
        }
    };
    (Router::new().route("/", get(|| async { "hello" })).route("/slow", get(slow)), started, go_on)
}

#[tokio::test]
async fn a_running_request_is_finished_and_a_new_one_refused() {
    let (app, started, go_on) = app();
    let server = Server::start_with_drain(app, Limits::default(), ABSURD).await;
    let mut running = server.client().await;
    let mut used = server.client().await;
    let mut silent = server.client().await;
    assert_eq!(used.get("/").await.status, 200);
    running.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n").await;
    fact("the handler runs", started.notified()).await;

    server.shutdown.cancel();
    fact("new connections are refused", async { while TcpStream::connect(server.address).await.is_ok() {} })
        .await;
    used.is_closed_in_silence().await;
    silent.is_closed_in_silence().await;
    assert!(!server.serving.is_finished());

    go_on.notify_one();
    let answer = running.answer().await;
    assert_eq!((answer.body.as_slice(), answer.header("connection")), (&b"done"[..], Some("close")));
    running.is_closed_in_silence().await;
    assert_eq!(server.stop().await.cut, 0);
}

#[tokio::test]
async fn a_request_that_is_half_here_may_still_come() {
    let (app, ..) = app();
    let server = Server::start(app, Limits::default()).await;
    let mut new = server.client().await;
    let mut used = server.client().await;
    assert_eq!(used.get("/").await.status, 200);
    for client in [&mut new, &mut used] {
        client.send("GET / HTTP/1.1\r\nHo").await;
    }
    // Whoever sends later is answered later: so the server has seen those bytes.
    assert_eq!(server.client().await.get("/").await.status, 200);
    server.shutdown.cancel();
    fact("new connections are refused", async { while TcpStream::connect(server.address).await.is_ok() {} })
        .await;
    for client in [&mut new, &mut used] {
        client.send("st: test\r\n\r\n").await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    }
    assert_eq!(server.stop().await.cut, 0);
}

#[tokio::test]
async fn a_request_that_outlasts_the_drain_is_cut_and_counted() {
    let (app, started, _go_on) = app();
    let server = Server::start_with_drain(app, Limits::default(), SHORT).await;
    let mut stuck = server.client().await;
    stuck.send("GET /slow HTTP/1.1\r\nHost: test\r\n\r\n").await;
    fact("the handler runs", started.notified()).await;
    assert_eq!(server.stop().await, Drained { finished: 0, cut: 1 });
    stuck.is_closed_in_silence().await;
}

#[tokio::test]
async fn an_idle_server_ends_at_once() {
    let (app, ..) = app();
    let server = Server::start(app, Limits::default()).await;
    assert_eq!(server.stop().await, Drained { finished: 0, cut: 0 });
}

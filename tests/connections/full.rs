//! More connections than there is room for, and handlers that panic.
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use callonce::http::limits::Limits;
use tokio::sync::Notify;

use super::{Server, fact};

fn app() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

#[tokio::test]
async fn above_the_cap_a_client_is_told_so_and_below_it_again_it_is_served() {
    let server = Server::start(app(), Limits { max_connections: 2, ..Limits::default() }).await;
    let mut first = server.client().await;
    let mut second = server.client().await;
    assert_eq!(first.get("/").await.status, 200);
    assert_eq!(second.get("/").await.status, 200);

    let mut third = server.client().await;
    let refused = third.get("/").await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("connection"), Some("close"));
    third.is_closed_in_silence().await;

    assert_eq!(second.get("/").await.status, 200, "who is in stays in");
    drop(first);
    fact("there is room again", async { while server.client().await.get("/").await.status != 200 {} }).await;
}

#[tokio::test]
async fn above_the_cap_a_client_that_writes_all_of_its_request_first_is_told_so() {
    let server = Server::start(app(), Limits { max_connections: 0, ..Limits::default() }).await;
    let mut client = server.client().await;
    let length = 8 * 1024 * 1024;
    client.send(format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n")).await;
    client.send(vec![b'x'; length]).await;
    assert_eq!(client.answer().await.code(), "overloaded");
}

#[tokio::test]
async fn more_clients_than_can_be_told_at_one_time_wait_and_are_told_then() {
    let server =
        Server::start(app(), Limits { max_connections: 0, max_refusals: 1, ..Limits::default() }).await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(server.client().await);
    }
    for mut client in clients {
        assert_eq!(client.get("/").await.code(), "overloaded");
        client.is_closed_in_silence().await;
    }
}

#[tokio::test]
async fn idle_clients_leave_room_for_one_that_works() {
    let server = Server::start(app(), Limits::default()).await;
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(server.client().await);
    }
    let mut busy = server.client().await;
    for _ in 0..100 {
        assert_eq!(busy.get("/").await.status, 200);
    }
    for mut client in idle {
        assert_eq!(client.get("/").await.status, 200, "and they are served when they speak");
    }
}

#[tokio::test]
async fn a_panic_ends_one_connection_only() {
    async fn panics() -> &'static str {
        panic!("a handler that panics, on purpose")
    }
    let held = Arc::new(Notify::new());
    let holds = {
        let held = held.clone();
        get(move || async move {
            held.notified().await;
            "held"
        })
    };
    let server =
        Server::start(app().route("/panic", get(panics)).route("/hold", holds), Limits::default()).await;
    let mut other = server.client().await;
    other.send("GET /hold HTTP/1.1\r\nHost: test\r\n\r\n").await;
    for _ in 0..3 {
        let mut client = server.client().await;
        client.send("GET /panic HTTP/1.1\r\nHost: test\r\n\r\n").await;
        client.is_closed_in_silence().await;
    }
    held.notify_one();
    assert_eq!(other.answer().await.body, b"held");
    assert_eq!(server.client().await.get("/").await.status, 200);
}

//! Request heads: complete ones, ones without a host, and ones that are too long.
use axum::Router;
use axum::routing::get;
use callonce::http::limits::Limits;

use super::Server;

fn app() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

#[tokio::test]
async fn requests_on_one_connection_are_answered_in_order() {
    let app = Router::new().route("/{n}", get(|uri: axum::http::Uri| async move { uri.path().to_owned() }));
    let server = Server::start(app, Limits::default()).await;
    let mut client = server.client().await;
    for path in ["/1", "/2"] {
        assert_eq!(client.get(path).await.body, path.as_bytes());
    }
    let pipelined: String = (3..20).map(|n| format!("GET /{n} HTTP/1.1\r\nHost: test\r\n\r\n")).collect();
    client.send(pipelined).await;
    for n in 3..20 {
        assert_eq!(client.answer().await.body, format!("/{n}").as_bytes());
    }
}

#[tokio::test]
async fn a_request_without_one_host_is_refused_and_the_next_one_served() {
    let server = Server::start(app(), Limits::default()).await;
    let mut client = server.client().await;
    for headers in ["", "Host: a\r\nHost: a\r\n", "Host: a b\r\n"] {
        client.send(format!("GET / HTTP/1.1\r\n{headers}\r\n")).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad_request"), "{headers:?}");
    }
    assert_eq!(client.get("/").await.status, 200);
    client.send("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(client.answer().await.status, 200, "HTTP/1.0 knows no Host");
    client.is_closed_in_silence().await;
}

#[tokio::test]
async fn a_line_may_end_without_a_carriage_return() {
    let server = Server::start(app(), Limits::default()).await;
    let mut client = server.client().await;
    client.send("GET / HTTP/1.1\nHost: test\n\n").await;
    assert_eq!(client.answer().await.status, 200, "RFC 9112, section 2.2 lets a server accept it");
}

#[tokio::test]
async fn a_head_that_is_no_http_is_answered_with_400() {
    let server = Server::start(app(), Limits::default()).await;
    for head in
        ["GET\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "\0\0\0\0\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"]
    {
        let mut client = server.client().await;
        client.send(head).await;
        assert_eq!(client.answer().await.status, 400, "{head:?}");
        client.is_closed_in_silence().await;
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_answered_though_its_client_writes_all_of_it_first() {
    let server = Server::start(app(), Limits::default()).await;
    let long = "x".repeat(500 * 1024);
    for head in [
        format!("GET / HTTP/1.1\r\nHost: test\r\nIdempotency-Key: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: test\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: test\r\n{}\r\n", "X: y\r\n".repeat(1000)),
    ] {
        let mut client = server.client().await;
        client.send(head).await;
        assert_eq!(client.answer().await.status, 431);
        client.is_closed_in_silence().await;
    }
    let fits = "x".repeat(60 * 1024);
    let mut client = server.client().await;
    client.send(format!("GET / HTTP/1.1\r\nHost: test\r\nX: {fits}\r\n\r\n")).await;
    assert_eq!(client.answer().await.status, 200);
}

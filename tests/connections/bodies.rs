//! Request bodies: whole, too long, too slow, cut short, not asked for, not read.
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use callonce::http::accept::Drained;
use callonce::http::body::BodyReader;
use callonce::http::limits::{Limits, MAX_BODY_BYTES};

use tokio::io::AsyncWriteExt;

use super::{ABSURD, SHORT, Server, fact};

/// Answers a body with its length, and one that is refused with the reason.
async fn measure(State(reader): State<Arc<BodyReader>>, body: Body) -> (StatusCode, String) {
    match reader.read(body).await {
        Ok(body) => (StatusCode::OK, body.len().to_string()),
        Err(error) => (error.status(), error.to_string()),
    }
}

async fn start(limits: Limits) -> Server {
    let app = Router::new()
        .route("/", post(measure))
        .route("/unread", post(|| async { StatusCode::UNSUPPORTED_MEDIA_TYPE }))
        .with_state(Arc::new(BodyReader::new(limits)));
    Server::start(app, limits).await
}

fn with_length(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n")
}

fn whole(length: usize) -> Vec<u8> {
    [with_length("/", length).into_bytes(), vec![b'x'; length]].concat()
}

fn chunked(path: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("POST {path} HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.chunks(100_000) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

#[tokio::test]
async fn a_body_up_to_the_limit_is_taken_and_a_longer_one_refused_to_a_client_that_writes_all_of_it_first() {
    let server = start(Limits::default()).await;
    for (length, status) in [
        (0, 200),
        (1, 200),
        (MAX_BODY_BYTES - 1, 200),
        (MAX_BODY_BYTES, 200),
        (MAX_BODY_BYTES + 1, 413),
        (8 * 1024 * 1024, 413),
    ] {
        let body = vec![b'x'; length];
        for request in [[with_length("/", length).into_bytes(), body.clone()].concat(), chunked("/", &body)] {
            let mut client = server.client().await;
            client.send(request).await;
            let answer = client.answer().await;
            assert_eq!(answer.status, status, "{length}: {answer:?}");
            if status == 200 {
                assert_eq!(answer.body, length.to_string().as_bytes());
                client.send(with_length("/", 2) + "ok").await;
                assert_eq!(client.answer().await.body, b"2", "the connection goes on after {length}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_given_without_reading_the_body_reaches_a_client_that_writes_all_of_it_first() {
    let server = start(Limits::default()).await;
    let body = vec![b'x'; 8 * 1024 * 1024];
    for request in
        [[with_length("/unread", body.len()).into_bytes(), body.clone()].concat(), chunked("/unread", &body)]
    {
        let mut client = server.client().await;
        client.send(request).await;
        assert_eq!(client.answer().await.status, 415);
        client.is_closed_in_silence().await;
    }
}

/// Longer than any test may take, so that what ends is not ended by it.
const NEVER: Duration = ABSURD.saturating_mul(10);

#[tokio::test]
async fn what_is_read_after_an_answer_is_bounded_in_bytes() {
    let server = start(Limits { linger_bytes: 100_000, linger_timeout: NEVER, ..Limits::default() }).await;
    let mut client = server.client().await;
    client.send(with_length("/", usize::MAX >> 2)).await;
    assert_eq!(client.answer().await.status, 413);
    fact("the server stops reading", async { while client.stream.write_all(&[b'x'; 4096]).await.is_ok() {} })
        .await;
}

#[tokio::test]
async fn what_is_read_after_an_answer_is_bounded_in_time() {
    let server = start(Limits { linger_timeout: SHORT, ..Limits::default() }).await;
    let mut client = server.client().await;
    client.send(with_length("/", MAX_BODY_BYTES + 1)).await;
    assert_eq!(client.answer().await.status, 413);
    assert_eq!(server.stop().await.cut, 0, "the silent client was let go");
}

#[tokio::test]
async fn a_connection_that_went_on_after_an_unread_body_ends_at_once() {
    let server = start(Limits { linger_timeout: NEVER, ..Limits::default() }).await;
    let mut client = server.client().await;
    for path in ["/", "/unread"] {
        client.send(with_length(path, 2) + "ok").await;
        client.answer().await;
    }
    assert_eq!(server.stop().await, Drained { finished: 1, cut: 0 });
}

#[tokio::test]
async fn a_body_that_was_announced_is_asked_for_unless_it_is_too_long() {
    let server = start(Limits::default()).await;
    let mut client = server.client().await;
    let announce = |length: usize| {
        format!("POST / HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n")
    };
    client.send(announce(1024)).await;
    assert_eq!(client.answer().await.status, 100);
    client.send([b'x'; 1024]).await;
    assert_eq!(client.answer().await.body, b"1024");
    client.send(announce(MAX_BODY_BYTES + 1)).await;
    assert_eq!(client.answer().await.status, 413, "and no 100 before it");
    let mut client = server.client().await;
    client.send(announce(4) + "eage").await;
    let first = client.answer().await;
    let last = if first.status == 100 { client.answer().await } else { first };
    assert_eq!(last.body, b"4", "a client may send without waiting");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_408() {
    let server = start(Limits { body_timeout: SHORT, ..Limits::default() }).await;
    let mut client = server.client().await;
    client.send(with_length("/", 50) + "{}").await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.body.as_slice()), (408, &b"the body did not arrive within 50ms"[..]));
}

#[tokio::test]
async fn a_body_that_trickles_is_a_408_and_disturbs_nobody() {
    let server = start(Limits { body_timeout: SHORT, ..Limits::default() }).await;
    let mut slow = server.client().await;
    let mut normal = server.client().await;
    slow.send(with_length("/", MAX_BODY_BYTES)).await;
    let mut answered = [0];
    while slow.stream.try_read(&mut answered).is_err() {
        slow.send(b"x").await;
        normal.send(with_length("/", 2) + "ok").await;
        assert_eq!(normal.answer().await.status, 200);
    }
    slow.unread.extend(answered);
    assert_eq!(slow.answer().await.status, 408);
}

#[tokio::test]
async fn a_body_that_ends_early_or_is_badly_framed_is_a_400() {
    let server = start(Limits::default()).await;
    for framing in [
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n",
        "Transfer-Encoding: gzip\r\n\r\n",
        "Content-Length: 1x\r\n\r\n",
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
    ] {
        let mut client = server.client().await;
        client.send(format!("POST / HTTP/1.1\r\nHost: test\r\n{framing}")).await;
        assert_eq!(client.answer().await.status, 400, "{framing:?}");
    }
}

#[tokio::test]
async fn large_bodies_share_their_memory_and_small_ones_need_none() {
    let limits = Limits { body_memory_bytes: 300_000, small_body_bytes: 1000, ..Limits::default() };
    let server = start(limits).await;
    let mut large = server.client().await;
    large.send(with_length("/", 200_001)).await;
    large.send(vec![b'x'; 200_000]).await;
    // The first body has to be in the server's memory before the second can find it full.
    let refused = fact("the memory runs out", async {
        loop {
            let mut second = server.client().await;
            second.send(whole(200_000)).await;
            let answer = second.answer().await;
            if answer.status != 200 {
                return answer;
            }
        }
    })
    .await;
    assert_eq!(refused.status, 503);
    let mut small = server.client().await;
    small.send(whole(1000)).await;
    assert_eq!(small.answer().await.status, 200);
    large.send("x").await;
    assert_eq!(large.answer().await.body, b"200001");
    let mut third = server.client().await;
    third.send(whole(200_000)).await;
    assert_eq!(third.answer().await.status, 200, "memory is given back");
}

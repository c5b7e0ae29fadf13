//! Does a body of any size arrive, or is it refused in words that its sender can read?

use std::time::Duration;

use callonce::http::limits::{Limits, MAX_BODY_BYTES};
use callonce::testing::app::{App, Setup};
use callonce::testing::raw_http::request;

use super::{CHARGE, accepted, calls, refused, text};

const KEY: &str = "Idempotency-Key: k";

/// A valid body of exactly `length` bytes.
fn body_of(length: usize) -> Vec<u8> {
    let (start, end) = (r#"{"tool":"sleep","args":{"v":""#, r#""}}"#);
    [start.as_bytes(), &vec![b'x'; length - start.len() - end.len()], end.as_bytes()].concat()
}

#[test]
fn a_body_up_to_the_limit_is_taken_and_a_longer_one_refused_in_words() {
    let app = App::start();
    for length in [MAX_BODY_BYTES - 1, MAX_BODY_BYTES] {
        let key = format!("k{length}");
        let call = accepted(&app.post(&key, &[], body_of(length)));
        assert_eq!(text(&call["args"], "v").len(), length - 32, "{length}");
        assert_eq!(app.get(text(&call, "query_url"), &[]).json()["args"], call["args"]);
    }
    for length in [MAX_BODY_BYTES + 1, 8 << 20] {
        let problem = refused(&app.post("k", &[], body_of(length)), 413, "bad_request");
        assert!(text(&problem, "detail").contains("1048576 bytes"), "{problem}");
    }
    refused(&app.get("/v1/tool-calls/by-key/k", &[]), 404, "not_found");
    assert_eq!(calls(&app), 2);
}

#[test]
fn a_body_of_unsaid_length_is_held_to_the_same_limit() {
    let app = App::start();
    let chunked = |body: &[u8]| {
        let head = [
            "POST /v1/tool-calls HTTP/1.1",
            "Host: a",
            KEY,
            "Content-Type: application/json",
            "Transfer-Encoding: chunked",
        ];
        let mut bytes = format!("{}\r\n\r\n", head.join("\r\n")).into_bytes();
        for chunk in body.chunks(70_001) {
            bytes.extend_from_slice(&[format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
        }
        [bytes, b"0\r\n\r\n".to_vec()].concat()
    };
    for length in [MAX_BODY_BYTES + 1, 8 << 20] {
        refused(&app.send(chunked(&body_of(length))), 413, "bad_request");
    }
    assert_eq!(calls(&app), 0);
    accepted(&app.send(chunked(&body_of(MAX_BODY_BYTES))));
}

#[test]
fn a_client_that_asks_before_it_sends_is_answered_at_once() {
    let app = App::start();
    let head = |length: usize| {
        let length = format!("Content-Length: {length}");
        request(
            "GET",
            "/v1/tool-calls",
            &[KEY, "Content-Type: application/json", "Expect: 100-continue", &length],
            b"",
        )
    };
    let posted = |length: usize| [b"POST".as_slice(), &head(length)[3..]].concat();

    let mut asks = app.connect();
    let body = body_of(1024);
    asks.send(posted(body.len()));
    assert_eq!(asks.answer().status, 100);
    asks.send(&body);
    accepted(&asks.answer());

    let mut asks_too_much = app.connect();
    asks_too_much.send(posted(8 << 20));
    refused(&asks_too_much.answer(), 413, "bad_request");
    assert_eq!(calls(&app), 1);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for_without_end() {
    let limits = Limits { body_timeout: Duration::from_millis(50), ..Limits::default() };
    let app = App::start_with(Setup { limits, ..Setup::default() });
    let whole =
        request("POST", "/v1/tool-calls", &[KEY, "Content-Type: application/json"], CHARGE.as_bytes());
    for missing in [1, 10, CHARGE.len()] {
        let mut slow = app.connect();
        slow.send(&whole[..whole.len() - missing]);
        let answer = slow.answer();
        let problem = refused(&answer, 408, "bad_request");
        assert_eq!(problem["retryable"], true, "{problem}");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    assert_eq!(calls(&app), 0);
    accepted(&app.send(whole));
}

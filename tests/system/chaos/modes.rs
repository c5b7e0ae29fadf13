//! Each mode: what the service is sent, what the client is given, and what the evidence says of both.

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callonce::testing::raw_http::request;
use serde_json::{Value, json};

use super::upstream::{Upstream, ok};
use crate::harness::Proxy;

/// A request with a body, on a connection that is closed after it.
fn post(body: &[u8]) -> Vec<u8> {
    request("POST", "/pay", &["Connection: close", "Idempotency-Key: k"], body)
}

/// The members of evidence that tell what happened.
fn told(evidence: &Value) -> Value {
    let mut told = evidence.clone();
    let members = told.as_object_mut().expect("a line is an object");
    members.retain(|name, _| {
        matches!(name.as_str(), "mode" | "sent" | "upstream" | "client" | "status" | "bytes" | "problem")
    });
    told
}

#[test]
fn drop_response_closes_after_the_service_has_acted() {
    let upstream = Upstream::answering(|_| ok("done"));
    let proxy = Proxy::before(upstream.address, &["--mode", "drop-response"]);
    assert_eq!(proxy.client().talk(&post(b"1")).expect("it is closed, not reset"), b"");
    assert_eq!(upstream.sees().body, b"1");
    let expected = json!({
        "mode": "drop-response", "sent": 1, "upstream": [200], "client": "closed", "status": null, "bytes": 0
    });
    assert_eq!(told(&proxy.evidence()), expected);
}

#[test]
fn drop_response_that_holds_ends_when_the_client_gives_up() {
    let upstream = Upstream::answering(|_| ok("done"));
    let proxy = Proxy::before(upstream.address, &["--mode", "drop-response", "--hold"]);
    let mut client = proxy.client().connect().expect("the proxy listens");
    client.write_all(&post(b"1")).expect("the proxy reads");
    assert_eq!(upstream.sees().body, b"1");
    client.set_read_timeout(Some(Duration::from_millis(20))).expect("not zero");
    let silence = client.read(&mut [0]).expect_err("nothing comes, not even an end");
    assert!(matches!(silence.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{silence}");
    drop(client);
    let expected = json!({
        "mode": "drop-response", "sent": 1, "upstream": [200], "client": "gave-up", "status": null, "bytes": 0
    });
    assert_eq!(told(&proxy.evidence()), expected);
}

#[test]
fn drop_request_never_reaches_the_service() {
    let upstream = Upstream::answering(|_| ok("done"));
    let proxy = Proxy::before(upstream.address, &["--mode", "drop-request"]);
    // Longer than what the kernel would take in: the proxy reads it to its end.
    assert_eq!(proxy.client().talk(&post(&vec![b'x'; 20 << 20])).expect("it is closed, not reset"), b"");
    let expected = json!({
        "mode": "drop-request", "sent": 0, "upstream": [], "client": "closed", "status": null, "bytes": 0
    });
    assert_eq!(told(&proxy.evidence()), expected);
    let (exit, rest) = proxy.stop();
    assert_eq!((exit.code, rest), (Some(0), vec![]));
    assert_eq!(upstream.seen(), []);
}

#[test]
fn delay_response_comes_late_and_whole() {
    let upstream = Upstream::answering(|_| ok("done"));
    let proxy = Proxy::before(upstream.address, &["--mode", "delay-response", "--delay", "50ms"]);
    let answer = proxy.client().talk(&post(b"1")).expect("the proxy answers");
    assert!(answer.ends_with(b"\r\n\r\ndone"));
    let evidence = proxy.evidence();
    let expected = json!({
        "mode": "delay-response", "sent": 1, "upstream": [200], "client": "answer", "status": 200, "bytes": 4
    });
    assert_eq!(told(&evidence), expected);
    assert!(evidence["elapsed_ms"].as_u64() >= Some(50), "{evidence}");
}

/// A service that numbers its answers.
fn counting() -> Upstream {
    let count = AtomicUsize::new(0);
    Upstream::answering(move |_| ok(&format!("answer {}", count.fetch_add(1, Ordering::SeqCst) + 1)))
}

#[test]
fn duplicate_request_on_one_connection_is_one_after_the_other() {
    let upstream = counting();
    let proxy =
        Proxy::before(upstream.address, &["--mode", "duplicate-request", "--second", "same-connection"]);
    let answer = proxy.client().talk(&post(b"once?")).expect("the proxy answers");
    assert!(answer.ends_with(b"\r\n\r\nanswer 2"));
    let [first, mut second] = [upstream.sees(), upstream.sees()];
    assert_eq!((first.connection, first.header("connection")), (second.connection, None));
    // Otherwise they are the same, but for the word that it is the last one.
    assert_eq!((first.body.as_slice(), second.header("connection")), (b"once?".as_slice(), Some("close")));
    second.head.retain(|line| line != "connection: close");
    assert_eq!(first, second);
    let expected = json!({
        "mode": "duplicate-request", "sent": 2, "upstream": [200, 200],
        "client": "answer", "status": 200, "bytes": 8
    });
    assert_eq!(told(&proxy.evidence()), expected);
}

#[test]
fn a_copy_that_found_no_connection_was_not_sent() {
    // As a service does that closes after each answer.
    let upstream = Upstream::answering(|_| {
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndone".to_vec()
    });
    let proxy =
        Proxy::before(upstream.address, &["--mode", "duplicate-request", "--second", "same-connection"]);
    let answer = proxy.client().talk(&post(b"once?")).expect("the proxy answers");
    let answer = String::from_utf8_lossy(&answer);
    let problem =
        "of two copies, the first was answered with 200, the second not: upstream closed the connection";
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains(problem), "{answer}");
    let mut told = told(&proxy.evidence());
    assert!(told["problem"].as_str().is_some_and(|told| told.starts_with(problem)), "{told}");
    for member in ["problem", "bytes"] {
        told.as_object_mut().expect("a line is an object").remove(member);
    }
    let expected = json!({
        "mode": "duplicate-request", "sent": 1, "upstream": [200], "client": "answer", "status": 502
    });
    assert_eq!(told, expected);
    assert_eq!(upstream.sees().body, b"once?");
    assert_eq!(upstream.seen(), []);
}

#[test]
fn duplicate_request_on_two_connections_is_at_one_moment() {
    // Neither is answered before both are there.
    let barrier = std::sync::Barrier::new(2);
    let upstream = Upstream::answering(move |_| {
        barrier.wait();
        ok("done")
    });
    let proxy = Proxy::before(upstream.address, &["--mode", "duplicate-request"]);
    // Chunked: the copies are sent whole all the same.
    let chunked = b"POST /pay HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nonce?\r\n0\r\n\r\n";
    let answer = proxy.client().talk(chunked).expect("the proxy answers");
    assert!(answer.ends_with(b"\r\n\r\ndone"));
    let [first, second] = [upstream.sees(), upstream.sees()];
    assert_ne!(first.connection, second.connection);
    assert_eq!((&first.head, &first.body), (&second.head, &second.body));
    assert_eq!(first.body, b"once?");
    let expected = json!({
        "mode": "duplicate-request", "sent": 2, "upstream": [200, 200],
        "client": "answer", "status": 200, "bytes": 4
    });
    assert_eq!(told(&proxy.evidence()), expected);
}

#[test]
fn a_request_too_long_to_be_held_is_not_doubled() {
    let upstream = counting();
    let proxy = Proxy::before(upstream.address, &["--mode", "duplicate-request"]);
    let mut client = proxy.client().connect().expect("the proxy listens");
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 17000000\r\n\r\n";
    client.write_all(head).expect("the proxy reads");
    // Its own thread: the proxy stops to read in the middle.
    let mut body = client.try_clone().expect("a socket can be cloned");
    std::thread::spawn(move || body.write_all(&vec![b'x'; 17_000_000]));
    let mut start = [0; 12];
    client.read_exact(&mut start).expect("the proxy answers");
    assert_eq!(&start, b"HTTP/1.1 413");
    let evidence = proxy.evidence();
    assert_eq!((&evidence["sent"], &evidence["status"]), (&0.into(), &413.into()));
    assert!(evidence["problem"].as_str().is_some_and(|problem| problem.contains("16777216 bytes")));
    assert_eq!(upstream.seen(), []);
}

#[test]
fn truncate_response_gives_the_head_and_half_of_the_body() {
    let upstream = Upstream::answering(|seen| match seen.body.as_slice() {
        b"chunked" => {
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n012\r\n4\r\n3456\r\n0\r\n\r\n"
                .to_vec()
        }
        b"empty" => ok(""),
        b"long" => ok(&"#".repeat(3_000_001)),
        _ => ok("0123456789"),
    });
    let proxy = Proxy::before(upstream.address, &["--mode", "truncate-response"]);
    let truncated = |bytes: usize| {
        json!({
            "mode": "truncate-response", "sent": 1, "upstream": [200],
            "client": "truncated", "status": 200, "bytes": bytes
        })
    };

    let answer = proxy.client().talk(&post(b"known")).expect("it is closed, not reset");
    let answer = String::from_utf8(answer).expect("text");
    assert!(answer.contains("content-length: 10\r\n") && answer.ends_with("\r\n\r\n01234"), "{answer}");
    assert_eq!(told(&proxy.evidence()), truncated(5));

    let answer = proxy.client().talk(&post(b"long")).expect("it is closed, not reset");
    assert_eq!(answer.iter().filter(|byte| **byte == b'#').count(), 1_500_000);
    assert_eq!(told(&proxy.evidence()), truncated(1_500_000));

    let answer = proxy.client().talk(&post(b"chunked")).expect("it is closed, not reset");
    assert!(answer.ends_with(b"\r\n\r\n3\r\n012\r\n"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(told(&proxy.evidence()), truncated(3));

    // There is no half of nothing: the answer is dropped.
    assert_eq!(proxy.client().talk(&post(b"empty")).expect("it is closed, not reset"), b"");
    assert_eq!(proxy.evidence()["client"], "closed");
}

#[test]
fn reset_is_a_reset() {
    for (on, arrived, statuses) in [("request", 0, json!([])), ("response", 1, json!([200]))] {
        let upstream = Upstream::answering(|_| ok("done"));
        let proxy = Proxy::before(upstream.address, &["--mode", "reset", "--on", on]);
        let error = proxy.client().talk(&post(b"1")).expect_err("it is reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{on}");
        let expected = json!({
            "mode": "reset", "sent": arrived, "upstream": statuses, "client": "reset", "status": null, "bytes": 0
        });
        assert_eq!(told(&proxy.evidence()), expected);
        assert_eq!(upstream.seen().len(), arrived, "{on}");
    }
}

#[test]
fn what_the_service_does_is_not_undone_by_a_client_that_leaves() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let (begun, begins) = std::sync::mpsc::channel();
    let upstream = Upstream::answering(move |_| {
        begun.send(()).expect("the test waits for it");
        wait.lock().expect("nobody panics here").recv().expect("the test says go");
        ok("done")
    });
    let proxy = Proxy::before(upstream.address, &["--mode", "pass"]);
    let mut client = proxy.client().connect().expect("the proxy listens");
    client.write_all(&post(b"1")).expect("the proxy reads");
    begins.recv().expect("the service begins");
    drop(client);
    go.send(()).expect("the service waits");
    let expected = json!({
        "mode": "pass", "sent": 1, "upstream": [200], "client": "gave-up", "status": null, "bytes": 0
    });
    assert_eq!(told(&proxy.evidence()), expected);
}

//! What passes, passes whole: bodies, headers, connections. What does not is answered by the proxy, in words.

use std::net::TcpListener;

use callonce::testing::raw_http::{Connection, request};
use serde_json::json;

use super::upstream::{Upstream, ok};
use crate::harness::{CHARGE, Home, Proxy};

#[test]
fn requests_and_answers_pass_whole_on_one_connection() {
    let upstream = Upstream::answering(|seen| ok(&format!("to {} bytes", seen.body.len())));
    let proxy = Proxy::before(upstream.address, &["--mode", "pass"]);
    let mut connection = Connection::open(proxy.address);
    let headers =
        ["Idempotency-Key: demo-1", "X-Own: 1", "Keep-Alive: timeout=5", "Connection: keep-alive, X-Hop"];
    let headers = [&headers[..], &["X-Hop: 1", "TE: trailers", "Expect: 100-continue"]].concat();
    connection.send(request("POST", "/v1/things?a=b%20c", &headers, b"hello"));
    let go_on = connection.answer();
    assert_eq!(go_on.status, 100);
    let answer = connection.answer();
    assert_eq!((answer.status, answer.text(), answer.header("x-kept")), (200, "to 5 bytes", Some("yes")));

    let seen = upstream.sees();
    assert_eq!(seen.head[0], "post /v1/things?a=b%20c http/1.1");
    assert_eq!(seen.body, b"hello");
    assert_eq!((seen.header("idempotency-key"), seen.header("x-own")), (Some("demo-1"), Some("1")));
    assert_eq!(seen.header("host"), Some(upstream.address.to_string().as_str()));
    assert_eq!(seen.header("connection"), Some("close"), "each exchange has a connection of its own");
    for hop in ["keep-alive", "x-hop", "te", "expect", "transfer-encoding"] {
        assert_eq!(seen.header(hop), None, "{hop} was passed on");
    }

    // The client's connection stays.
    assert_eq!(connection.exchange(request("GET", "/", &[], b"")).text(), "to 0 bytes");
    assert_eq!(upstream.sees().header("content-length"), None);
    let head = connection.exchange(request("HEAD", "/", &[], b""));
    assert_eq!((head.status, head.header("content-length")), (200, Some("10")));

    let [first, second, third] = &proxy.evidence_of(3)[..] else { panic!("three requests") };
    let expected = json!({
        "request": 1, "method": "POST", "path": "/v1/things?a=b%20c", "key": "demo-1", "mode": "pass",
        "sent": 1, "upstream": [200], "client": "answer", "status": 200, "bytes": 10,
        "elapsed_ms": first["elapsed_ms"].as_u64().expect("it says how long it took"),
    });
    assert_eq!(*first, expected);
    assert_eq!(
        (&second["request"], &second["method"], &second["key"]),
        (&2.into(), &"GET".into(), &json!(null))
    );
    assert_eq!(
        (&third["client"], &third["status"], &third["bytes"]),
        (&"answer".into(), &200.into(), &0.into())
    );
}

#[test]
fn each_side_is_spoken_to_in_the_way_that_concerns_it() {
    let upstream = Upstream::answering(|_| {
        b"HTTP/1.1 200 OK\r\nX-Own: Yes\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndone".to_vec()
    });
    let proxy = Proxy::before(upstream.address, &["--mode", "pass"]);
    let old = proxy.client().talk(b"GET /old HTTP/1.0\r\nX-Own: Yes\r\n\r\n").expect("the proxy answers");
    let old = String::from_utf8(old).expect("text");
    assert!(old.starts_with("HTTP/1.0 200 OK\r\n") && old.ends_with("\r\n\r\ndone"), "{old}");
    assert!(old.contains("\r\nx-own: Yes\r\n") && old.contains("\r\ndate: "), "{old}");
    let seen = upstream.sees();
    assert_eq!((seen.head[0].as_str(), seen.header("x-own")), ("get /old http/1.1", Some("yes")));
    assert_eq!(seen.header("host"), Some(upstream.address.to_string().as_str()));
    // Upstream closes its connection after each answer; the client's stays.
    let mut connection = Connection::open(proxy.address);
    for _ in 0..2 {
        let answer = connection.exchange(request("GET", "/", &[], b""));
        assert_eq!((answer.text(), answer.header("connection")), ("done", None));
    }
}

#[test]
fn bodies_of_any_length_are_streamed() {
    // Longer than what is held in memory anywhere.
    const LONG: usize = 40 * 1024 * 1024;
    let upstream = Upstream::answering(|seen| {
        let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for piece in seen.body.chunks(1024 * 1024) {
            answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            answer.extend_from_slice(piece);
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(b"0\r\n\r\n");
        answer
    });
    let proxy = Proxy::before(upstream.address, &["--mode", "pass"]);
    let body: Vec<u8> = (0..LONG).map(|at| (at % 251) as u8).collect();
    let mut chunked =
        b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for piece in body.chunks(100_000) {
        chunked.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        chunked.extend_from_slice(piece);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let known = request("POST", "/", &["Connection: close"], &body);
    for request in [known, chunked] {
        let answer = proxy.client().talk(&request).expect("the proxy answers");
        assert!(answer.ends_with(b"\r\n0\r\n\r\n"), "the answer is cut");
        assert_eq!(upstream.sees().body, body);
        let evidence = proxy.evidence();
        assert_eq!((&evidence["client"], &evidence["bytes"]), (&"answer".into(), &LONG.into()));
    }
}

#[test]
fn an_upstream_that_is_not_there_is_a_502() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let nobody = nobody.expect("a port is free");
    for mode in ["pass", "drop-response", "duplicate-request", "truncate-response", "reset"] {
        let proxy = Proxy::before(nobody, &["--mode", mode]);
        let answer = proxy.client().post("demo-1", CHARGE);
        assert_eq!(answer.status, 502, "{mode}");
        let expected = format!("upstream {nobody} cannot be reached: ");
        assert!(answer.body.contains(&expected), "{mode}: {answer:?}");
        assert!(answer.body.contains("nothing was sent"), "{mode}: {answer:?}");
        let evidence = proxy.evidence();
        assert_eq!((&evidence["sent"], &evidence["upstream"]), (&0.into(), &json!([])), "{mode}");
        assert_eq!((&evidence["client"], &evidence["status"]), (&"answer".into(), &502.into()), "{mode}");
        let problem = evidence["problem"].as_str().expect("it says what was wrong");
        assert!(problem.contains(&expected), "{mode}: {problem}");
    }
}

#[test]
fn an_upstream_that_does_not_answer_may_have_acted() {
    let upstream = Upstream::answering(|_| Vec::new());
    let proxy = Proxy::before(upstream.address, &["--mode", "pass"]);
    let answer = proxy.client().post("demo-1", CHARGE);
    assert_eq!(answer.status, 502);
    assert!(answer.body.contains("unknown"), "{answer:?}");
    assert_eq!(upstream.sees().header("idempotency-key"), Some("demo-1"));
    let evidence = proxy.evidence();
    assert_eq!((&evidence["sent"], &evidence["upstream"]), (&1.into(), &json!([])));
}

#[test]
fn an_answer_that_breaks_off_breaks_off_for_the_client_too() {
    let upstream = Upstream::answering(|seen| match seen.head[0].starts_with("get /length") {
        true => b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100\r\n\r\nhalf".to_vec(),
        false => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_vec(),
    });
    let proxy = Proxy::before(upstream.address, &["--mode", "pass"]);
    for path in ["/length", "/chunked"] {
        let request = request("GET", path, &["Connection: close"], b"");
        let answer = proxy.client().talk(&request).expect("it is closed, not reset");
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("half") && !answer.contains("\r\n0\r\n"), "{answer}");
        let evidence = proxy.evidence();
        assert_eq!((&evidence["client"], &evidence["bytes"]), (&"truncated".into(), &4.into()));
        assert!(
            evidence["problem"].as_str().is_some_and(|problem| problem.contains("broke off")),
            "{evidence}"
        );
    }
}

#[test]
fn callonce_behind_it_is_callonce() {
    let home = Home::new();
    let server = home.serve();
    let proxy = Proxy::before(server.address, &["--mode", "pass"]);
    let done = proxy.client().settle("demo-1", CHARGE);
    assert_eq!((done.status, done.text("status").as_str()), (200, "succeeded"));
    assert_eq!(server.client().by_key("demo-1").body, done.body);
    home.db().keeps_the_laws();
}

//! A downstream behind HTTP, over real sockets: what reaches it, and what each of its answers is taken for.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use callonce::domain::id::CallId;
use callonce::domain::json::{Canonical, Value};
use callonce::engine::tools::http::{Endpoint, Settings, Statuses};
use callonce::engine::tools::{Finding, Invocation, Outcome, Secret};
use callonce::engine::trace::TraceParent;

const SECRET: &str = "Bearer hunter2-hunter2";

/// A downstream that answers each request with the same bytes and closes.
struct Downstream {
    address: String,
    requests: Receiver<Arrived>,
}

struct Arrived {
    line: String,
    headers: Vec<String>,
    body: String,
}

impl Arrived {
    fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &'_ String| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        self.headers
            .iter()
            .find(|line| of(line))
            .and_then(|line| line.split_once(": "))
            .map(|(_, value)| value)
    }
}

impl Downstream {
    fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::doing(move |mut stream| drop(stream.write_all(&bytes)))
    }

    fn doing(act: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one").to_string();
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if read(&stream, &sender).is_none() {
                    return;
                }
                act(stream);
            }
        });
        Self { address, requests }
    }

    fn url(&self) -> String {
        format!("http://{}/payments", self.address)
    }
}

fn read(stream: &TcpStream, to: &Sender<Arrived>) -> Option<()> {
    let mut lines = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let mut arrived = Arrived { line: head.remove(0), headers: head, body: String::new() };
    let length = arrived.header("content-length").map_or(0, |length| length.parse().expect("a number"));
    lines.take(length).read_to_string(&mut arrived.body).ok()?;
    to.send(arrived).ok()
}

fn settings(url: String) -> Settings {
    Settings {
        method: "POST".into(),
        url,
        headers: vec![("Authorization".into(), Secret::new(SECRET.into()))],
        connect_timeout: Duration::from_secs(5),
        max_body: 64 << 10,
        statuses: Statuses::default(),
    }
}

fn endpoint(url: String) -> Endpoint {
    Endpoint::new(settings(url)).expect("the settings go together")
}

fn invocation() -> Invocation {
    let call_id = CallId::from_bytes([7; 16]);
    Invocation {
        call_id,
        effect_id: call_id.effect_id(),
        attempt: 3,
        args: Canonical::parse(r#"{"amount":9007199254740993,"to":"a b"}"#).expect("canonical"),
        trace: TraceParent::of(call_id, 3),
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

async fn outcome(bytes: impl Into<Vec<u8>>) -> Outcome {
    endpoint(Downstream::answering(bytes).url()).run(&invocation()).await
}

/// An outcome as one line, for tables.
fn line(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded { result, amount: None } => format!("succeeded {}", result.canonical().as_str()),
        Outcome::Succeeded { .. } => "succeeded with an amount".into(),
        Outcome::Failed(failure) if failure.retryable => format!("retryable: {}", failure.message),
        Outcome::Failed(failure) => format!("final: {}", failure.message),
        Outcome::NotNow { failure, after } => format!("not now, {after:?}: {}", failure.message),
        Outcome::Unknown { message } => format!("unknown: {message}"),
    }
}

#[tokio::test]
async fn the_downstream_gets_the_effect_id_the_attempt_the_trace_and_the_args_to_the_digit() {
    let downstream = Downstream::answering(answer("201 Created", "", r#"{"payment_id":"pay_1"}"#));
    let ended =
        endpoint(format!("{}?of={{effect_id}}&try={{attempt}}", downstream.url())).run(&invocation()).await;
    assert_eq!(line(&ended), r#"succeeded {"payment_id":"pay_1"}"#);
    let arrived = downstream.requests.recv().expect("one request");
    let effect_id = format!("eff_{}", "07".repeat(16));
    assert_eq!(arrived.line, format!("POST /payments?of={effect_id}&try=3 HTTP/1.1"));
    for (name, value) in [
        ("idempotency-key", effect_id.as_str()),
        ("callonce-call-id", &format!("c_{}", "07".repeat(16))),
        ("callonce-attempt", "3"),
        ("traceparent", &format!("00-{}-0000000000000003-00", "07".repeat(16))),
        ("content-type", "application/json"),
        ("authorization", SECRET),
    ] {
        assert_eq!(arrived.header(name), Some(value), "{name}");
    }
    assert_eq!(arrived.body, r#"{"amount":9007199254740993,"to":"a b"}"#);
}

#[tokio::test]
async fn a_get_has_its_args_in_the_query_and_no_body() {
    let downstream = Downstream::answering(answer("200 OK", "", "[]"));
    let get = Settings { method: "GET".into(), ..settings(downstream.url()) };
    let ended = Endpoint::new(get).expect("they go together").run(&invocation()).await;
    assert_eq!(line(&ended), "succeeded []");
    let arrived = downstream.requests.recv().expect("one request");
    assert_eq!(arrived.line, "GET /payments?amount=9007199254740993&to=a+b HTTP/1.1");
    assert_eq!((arrived.header("content-type"), arrived.body.as_str()), (None, ""));
}

#[tokio::test]
async fn each_answer_is_taken_for_what_it_says() {
    let soon = "Retry-After: 7\r\n";
    let words = "Content-Type: text/plain; charset=utf-8\r\n";
    for (bytes, expected) in [
        (
            answer("200 OK", "", r#"{"b":1, "a":9007199254740993}"#),
            r#"succeeded {"a":9007199254740993,"b":1}"#,
        ),
        (answer("202 Accepted", "", " \n"), "succeeded null"),
        ("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".into(), "succeeded null"),
        (answer("200 OK", words, "paid"), r#"succeeded "paid""#),
        (answer("200 OK", "", "<html>"), "unknown: answered 200 with what is not JSON"),
        (answer("200 OK", "", r#"{"a":1,"a":2}"#), "unknown: answered 200 with what is not JSON"),
        (answer("302 Found", "Location: /payments\r\n", ""), "unknown: answered 302"),
        (answer("400 Bad Request", "", "no\namount"), "final: answered 400: no amount"),
        (answer("404 Not Found", "", ""), "final: answered 404"),
        (answer("429 Too Many Requests", "", ""), "retryable: answered 429"),
        (answer("429 Too Many Requests", soon, "slowly"), "not now, 7s: answered 429: slowly"),
        (answer("503 Service Unavailable", soon, ""), "not now, 7s: answered 503"),
        (answer("503 Service Unavailable", "", ""), "unknown: answered 503"),
        (answer("500 Internal Server Error", soon, "oh"), "unknown: answered 500: oh"),
        ("SSH-2.0-OpenSSH_9.2\r\n".into(), "unknown: the request was sent, and no whole answer came: "),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".into(), "unknown: the request was sent"),
        (String::new(), "unknown: the request was sent, and no whole answer came: "),
    ] {
        let ended = line(&outcome(bytes.clone()).await);
        assert!(ended.starts_with(expected), "{bytes:?}: {ended}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Downstream::answering(answer("200 OK", "", "{}"));
    let location = format!("Location: {}\r\n", elsewhere.url());
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let ended = line(&outcome(answer(status, &location, "")).await);
        assert_eq!(ended, format!("unknown: answered {}", &status[..3]));
    }
    assert!(elsewhere.requests.try_recv().is_err(), "nobody came");
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent_and_it_may_be_tried_again() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("it has one");
    for url in [format!("http://{free}/"), "http://no-such-host.invalid/".into()] {
        let endpoint = endpoint(url.clone());
        let ended = line(&endpoint.run(&invocation()).await);
        assert!(ended.starts_with("retryable: nothing was sent: "), "{url}: {ended}");
        assert!(matches!(endpoint.ask(&invocation()).await, Finding::Unknown { .. }), "{url}");
    }
}

#[tokio::test]
async fn a_flood_ends_at_the_cap() {
    let downstream = Downstream::doing(|mut stream| {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
        let mut sent = stream.write_all(head);
        // Without an end: it is the reader who has to hang up.
        while sent.is_ok() {
            sent = stream.write_all(&chunk);
        }
    });
    let ended = line(&endpoint(downstream.url()).run(&invocation()).await);
    assert_eq!(ended, "unknown: answered 200 with more than 65536 bytes");
}

#[tokio::test]
async fn a_secret_that_comes_back_is_blotted_out() {
    let echo = format!(r#"{{"you_sent":"{SECRET}"}}"#);
    let ended = line(&outcome(answer("200 OK", "", &echo)).await);
    assert_eq!(ended, r#"succeeded {"you_sent":"***"}"#);
    let ended = line(&outcome(answer("400 Bad Request", "", &echo)).await);
    assert_eq!(ended, r#"final: answered 400: {"you_sent":"***"}"#);
    let shown = format!("{:?}", endpoint("http://127.0.0.1:9/".into()));
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn a_question_has_four_answers() {
    let found = r#"{"payment_id":"pay_1"}"#;
    for (bytes, expected) in [
        (answer("200 OK", "", found), r#"happened, answered 200: {"payment_id":"pay_1"}"#),
        (answer("404 Not Found", "", "none"), "not happened, answered 404: none"),
        (answer("403 Forbidden", "", ""), "unknown, answered 403"),
        (answer("503 Service Unavailable", "", ""), "unknown, answered 503"),
        (answer("200 OK", "", "<html>"), "unknown, answered 200 with what is not JSON"),
        (String::new(), "unknown, "),
    ] {
        let downstream = Downstream::answering(bytes.clone());
        let question = Settings {
            method: "GET".into(),
            statuses: Statuses::of_a_question(),
            ..settings(format!("{}/{{effect_id}}", downstream.url()))
        };
        let finding = Endpoint::new(question).expect("they go together").ask(&invocation()).await;
        let told = match finding {
            Finding::Happened { result, evidence } => {
                assert_eq!(result.get("payment_id").and_then(Value::as_str), Some("pay_1"));
                format!("happened, {evidence}")
            }
            Finding::NotHappened { evidence } => format!("not happened, {evidence}"),
            Finding::Unknown { message } => format!("unknown, {message}"),
        };
        assert!(told.starts_with(expected), "{bytes:?}: {told}");
        let arrived = downstream.requests.recv().expect("one request");
        assert_eq!(arrived.line, format!("GET /payments/eff_{} HTTP/1.1", "07".repeat(16)));
        assert_eq!(arrived.body, "");
    }
}

#[test]
fn settings_that_cannot_work_are_named() {
    let url = || String::from("http://127.0.0.1:9000/payments");
    let named = |name: &str, value: &str| {
        let headers = vec![(name.to_owned(), Secret::new(value.into()))];
        Settings { headers, ..settings(url()) }
    };
    for (wrong, says) in [
        (Settings { method: "post".into(), ..settings(url()) }, "method: "),
        (Settings { method: "PO ST".into(), ..settings(url()) }, "method: "),
        (settings("payments".into()), "url: "),
        (named("no good", "x"), "headers: \"no good\" is no name"),
        (named("X-Token", "hunter2\n"), "headers: X-Token: "),
        (named("Idempotency-Key", "k"), "headers: every request has its own Idempotency-Key"),
        (named("Host", "h"), "headers: every request has its own Host"),
    ] {
        let refusal = Endpoint::new(wrong).expect_err(says).to_string();
        assert!(refusal.starts_with(says) && !refusal.contains("hunter2"), "{refusal}");
    }
}

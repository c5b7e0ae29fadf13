//! `call`: one request, one key, and an exit code that says what became of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use crate::harness::{Done, Home, Listener, PROGRAM, callonce, callonce_with};

/// A server that is done with every call at once.
fn done_at_once() -> Listener {
    let body = r#"{"call_id":"c_1","status":"succeeded","final":true,"held":null}"#;
    let length = body.len();
    Listener::answering(format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    ))
}

fn refusing(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

fn accepting() -> String {
    let body = r#"{"call_id":"c_1","status":"pending","final":false,"held":null}"#;
    let length = body.len();
    format!("HTTP/1.1 202 Accepted\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn call(base: &str, rest: &[&str]) -> Done {
    callonce(&[&["call", "--base", base, "--output", "json"], rest].concat())
}

#[test]
fn it_exits_with_what_became_of_the_call() {
    let home = Home::new();
    let server = home.serve();
    let base = format!("http://{}", server.address);
    for (rest, code, status) in [
        (&["charge", "--arg", "amount=100", "--key", "k"][..], 0, "succeeded"),
        // Again: the same call. With another amount: somebody else's key.
        (&["charge", "--args", r#"{"amount":1e2}"#, "--key", "k"], 0, "succeeded"),
        (&["charge", "--arg", "amount=200", "--key", "k"], 3, "idempotency_conflict"),
        (&["fail", "--arg", "message=no"], 1, "failed"),
        (&["fail", "--arg", "retryable=true", "--key", "again"], 7, "failed"),
        (&["fail", "--arg", "retryable=true", "--arg", "times=1", "--key", "third"], 7, "failed"),
        (&["fail", "--arg", "retryable=true", "--arg", "times=1", "--key", "third"], 0, "succeeded"),
        (&["sleep", "--arg", "seconds=10", "--wait", "1ms"], 5, "pending|running"),
        (&["charge", "--arg", "amount=zero"], 2, "bad_request"),
        (&["nothing", "--key", "free"], 2, "bad_request"),
    ] {
        let done = call(&base, rest);
        assert_eq!(done.code, Some(code), "{rest:?} {done:?}");
        if matches!(code, 2 | 3) {
            assert_eq!(done.stdout, "", "{rest:?}");
            assert!(done.stderr.contains(status), "{rest:?} {done:?}");
        } else {
            let call = done.json();
            let is = call["status"].as_str().unwrap_or_default();
            assert!(status.split('|').any(|status| status == is), "{rest:?} {done:?}");
            assert_eq!(call["final"], !matches!(code, 5 | 7), "{rest:?} {done:?}");
        }
    }
    let amounts = home.db().rows("SELECT amount FROM effects");
    assert_eq!(amounts, ["100"]);
    assert_eq!(callonce(&["get", "--key", "free", "--base", &base]).code, Some(4));
    home.db().keeps_the_laws();
}

#[test]
fn a_key_is_made_once_told_before_it_is_sent_and_sent_once() {
    let listener = done_at_once();
    let done = call(&listener.base(), &["charge", "--arg", "amount=1"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let told = done.stderr.lines().next().and_then(|line| line.strip_prefix("callonce: key "));
    let told = told.unwrap_or_else(|| panic!("the key is not told first: {done:?}"));
    assert_eq!(keys(&listener), [[told]]);

    // One's own key wins over everything else, and whatever else is set does not add another.
    let env = [("CALLONCE_KEY", "of-the-environment"), ("CALLONCE_BASE", "http://127.0.0.1:1")];
    let base = listener.base();
    let all = [
        "call",
        "charge",
        "--key",
        "K",
        "--args",
        r#"{"amount":1,"idempotency_key":"of-the-args"}"#,
        "--client-id",
        "me",
        "--seq",
        "7",
        "--timeout",
        "5s",
        "--wait",
        "3s",
        "--base",
        &base,
        "--output",
        "ndjson",
    ];
    assert_eq!(callonce_with(&env, &all).code, Some(0));
    assert_eq!(keys(&listener), [["K"]]);
    let environment = callonce_with(&env[..1], &["call", "charge", "--base", &base]);
    assert_eq!(environment.code, Some(0));
    assert_eq!(keys(&listener), [["of-the-environment"]]);
}

/// The keys in each request that arrived.
fn keys(listener: &Listener) -> Vec<Vec<String>> {
    let keys = |request: &String| {
        let head = request.split("\r\n\r\n").next().unwrap_or_default().to_owned();
        let keys = head.lines().filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("idempotency-key").then(|| value.to_owned())
        });
        keys.collect()
    };
    listener.requests().iter().map(keys).collect()
}

#[test]
fn what_was_typed_is_what_is_sent() {
    let listener = done_at_once();
    for (rest, args) in [
        (&["--args", ""][..], "{}"),
        (&["--args", "  "], "{}"),
        (&[], "{}"),
        (&["--args", r#" { "b": 1.50, "a": [null, "ü"] } "#], r#"{"a":[null,"ü"],"b":1.5}"#),
        (&["--arg", "amount=100", "--arg", "note=100 apples"], r#"{"amount":100,"note":"100 apples"}"#),
        (&["--arg", "a=\"100\"", "--arg", "b=", "--arg", "c=x=y"], r#"{"a":"100","b":"","c":"x=y"}"#),
        (&["--arg", "id=9007199254740993"], r#"{"id":9007199254740993}"#),
        (&["--arg", "on=true", "--arg", "list=[1]"], r#"{"list":[1],"on":true}"#),
    ] {
        let done = call(&listener.base(), &[&["charge"], rest].concat());
        assert_eq!(done.code, Some(0), "{rest:?} {done:?}");
        let requests = listener.requests();
        let [request] = &requests[..] else { panic!("{rest:?}: {requests:?}") };
        assert!(request.starts_with("POST /v1/tool-calls HTTP/1.1\r\n"), "{request}");
        let body = request.split("\r\n\r\n").nth(1).unwrap_or_default();
        assert_eq!(body, format!(r#"{{"args":{args},"tool":"charge"}}"#), "{rest:?}");
    }
}

#[test]
fn an_unknown_outcome_is_not_a_failure_and_keeps_its_key() {
    let (hang_up, end_of_test) = channel::<()>();
    let end_of_test = std::sync::Mutex::new(end_of_test);
    let silent = Listener::doing(move |_client| {
        let _ = end_of_test.lock().expect("nobody panics").recv();
    });
    for (what, listener) in [
        ("no answer", silent),
        ("hung up", Listener::doing(drop)),
        ("half an answer", Listener::answering("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{\"call_id\"")),
    ] {
        let rest = ["charge", "--arg", "amount=1", "--key", "K", "--timeout", "100ms", "--wait", "100ms"];
        let done = call(&listener.base(), &rest);
        assert_eq!((done.code, done.stdout.as_str()), (Some(5), ""), "{what}: {done:?}");
        assert!(done.stderr.contains("unknown") && done.stderr.contains("--key 'K'"), "{what}: {done:?}");
        assert!(keys(&listener).concat().iter().all(|key| key == "K"), "{what}");
    }
    drop(hang_up);
    for busy in ["503 Service Unavailable", "429 Too Many Requests", "502 Bad Gateway", "408 Request Timeout"]
    {
        let done = call(&Listener::answering(refusing(busy)).base(), &["charge", "--key", "K"]);
        assert_eq!(done.code, Some(5), "{busy}: {done:?}");
        assert!(done.stderr.contains("unknown") && done.stderr.contains("--key 'K'"), "{busy}: {done:?}");
    }
    // Not a server of ours, for that would have the route.
    let done = call(&Listener::answering(refusing("404 Not Found")).base(), &["charge", "--key", "K"]);
    assert_eq!(done.code, Some(2), "{done:?}");

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = nobody.local_addr().expect("it is bound");
    drop(nobody);
    let done = call(&format!("http://{address}"), &["charge", "--arg", "amount=1"]);
    assert_eq!(done.code, Some(69), "{done:?}");
    assert!(done.stderr.contains(&address.to_string()), "{done:?}");
}

/// Once a call is accepted, no later trouble makes it one that was never sent, or that does not exist.
#[test]
fn what_was_accepted_stays_unknown_until_it_is_seen_to_end() {
    for later in ["404 Not Found", "400 Bad Request", "409 Conflict", "503 Service Unavailable"] {
        let accepted = AtomicBool::new(false);
        let server = Listener::doing(move |mut client| {
            let answer = match accepted.swap(true, Ordering::SeqCst) {
                false => accepting(),
                true => refusing(later),
            };
            let _ = client.write_all(answer.as_bytes());
        });
        let done = call(&server.base(), &["charge", "--key", "K"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(5), ""), "{later}: {done:?}");
        assert!(done.stderr.contains("unknown") && done.stderr.contains("--key 'K'"), "{later}: {done:?}");
    }

    let (address, server) = gone_after(accepting());
    let done = call(&format!("http://{address}"), &["charge", "--key", "K"]);
    server.join().expect("the server does not panic");
    assert_eq!((done.code, done.stdout.as_str()), (Some(5), ""), "{done:?}");
    assert!(done.stderr.contains("unknown") && done.stderr.contains("--key 'K'"), "{done:?}");
}

/// A server that answers its first request, and is not there any more when the answer arrives.
fn gone_after(answer: String) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client comes");
        drop(listener);
        let _ = client.write_all(answer.as_bytes());
        // Until the client hangs up, so that it has read the answer before the connection is reset.
        let _ = client.read_to_end(&mut Vec::new());
    });
    (address, server)
}

#[test]
fn a_server_may_lie_behind_a_prefix() {
    for (prefix, sent) in [("", ""), ("/", ""), ("/tools", "/tools"), ("/a/b/", "/a/b")] {
        let listener = done_at_once();
        let done = call(&format!("{}{prefix}", listener.base()), &["charge", "--key", "K"]);
        assert_eq!(done.code, Some(0), "{prefix}: {done:?}");
        let requests = listener.requests();
        let line = format!("POST {sent}/v1/tool-calls HTTP/1.1\r\n");
        assert!(requests[0].starts_with(&line), "{prefix}: {requests:?}");
    }
}

/// Somebody who does not read on must not turn a failure into a success.
#[test]
fn a_reader_who_has_gone_does_not_change_the_exit_code() {
    let home = Home::new();
    let server = home.serve();
    let base = format!("http://{}", server.address);
    let mut child = Command::new(PROGRAM)
        .env_clear()
        .args(["call", "fail", "--base", &base])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

/// A proxy may strip what asks the server to wait.
#[test]
fn a_server_that_does_not_wait_is_not_asked_without_end() {
    let server = Listener::answering(accepting());
    let done = call(&server.base(), &["charge", "--key", "K", "--wait", "1s"]);
    assert_eq!(done.code, Some(5), "{done:?}");
    let requests = server.requests().len();
    assert!((2..=3).contains(&requests), "{requests} requests in a second");
}

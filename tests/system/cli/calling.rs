//! `call`: one request, one key, and an exit code that says what became of it.

use std::process::{Command, Stdio};

use super::script::{call, done_at_once, keys};
use crate::harness::{Home, PROGRAM, callonce, callonce_reading, callonce_with};

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
        // The server waits in whole seconds, so the look takes longer than an answer may.
        (&["sleep", "--arg", "seconds=10", "--wait", "300ms", "--timeout", "700ms"], 5, "pending|running"),
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
    assert_eq!(keys(&listener.requests()), [[told]]);

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
    assert_eq!(keys(&listener.requests()), [["K"]]);
    let environment = callonce_with(&env[..1], &["call", "charge", "--base", &base]);
    assert_eq!(environment.code, Some(0));
    assert_eq!(keys(&listener.requests()), [["of-the-environment"]]);
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
        assert_eq!(request.line, "POST /v1/tool-calls");
        assert_eq!(request.body, format!(r#"{{"args":{args},"tool":"charge"}}"#), "{rest:?}");
    }
}

#[test]
fn arguments_come_from_a_file_or_from_stdin() {
    let listener = done_at_once();
    let base = listener.base();
    let home = Home::new();
    let file = home.folder().join("args.json");
    let at_file = format!("@{}", file.display());
    std::fs::write(&file, "{ \"amount\": 1e2,\n \"id\": 9007199254740993 }\n").expect("it can be written");
    assert_eq!(call(&base, &["charge", "--args", &at_file]).code, Some(0));
    let piped = callonce_reading(r#"{"amount":100}"#, &["call", "--base", &base, "charge", "--args", "-"]);
    assert_eq!(piped.code, Some(0), "{piped:?}");
    let bodies: Vec<_> = listener.requests().into_iter().map(|request| request.body).collect();
    let sent = [
        r#"{"args":{"amount":100,"id":9007199254740993},"tool":"charge"}"#,
        r#"{"args":{"amount":100},"tool":"charge"}"#,
    ];
    assert_eq!(bodies, sent);

    std::fs::write(&file, "{\"amount\":1,\n\"note\":no}").expect("it can be written");
    let missing = format!("@{}", home.folder().join("nothing.json").display());
    for (args, stdin, says) in [
        (at_file.as_str(), "", &["args.json", "line 2, column 8"][..]),
        (&missing, "", &["nothing.json", "No such file"]),
        ("@", "", &["--args"]),
        ("-", "[1]", &["stdin", "a list"]),
        ("-", "{\"amount\":", &["stdin", "line 1, column"]),
        // A pipe whose other end failed must not become a call without arguments.
        ("-", "", &["stdin", "empty"]),
        ("-", " \n", &["stdin", "empty"]),
    ] {
        let done = callonce_reading(stdin, &["call", "--base", &base, "charge", "--args", args]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args} {stdin:?}: {done:?}");
        for part in says {
            assert!(done.stderr.contains(part), "{args} {stdin:?}: no `{part}` in {done:?}");
        }
    }
    assert!(listener.requests().is_empty());
}

#[test]
fn a_server_may_lie_behind_a_prefix() {
    for (prefix, sent) in [("", ""), ("/", ""), ("/tools", "/tools"), ("/a/b/", "/a/b")] {
        let listener = done_at_once();
        let done = call(&format!("{}{prefix}", listener.base()), &["charge", "--key", "K"]);
        assert_eq!(done.code, Some(0), "{prefix}: {done:?}");
        let requests = listener.requests();
        assert_eq!(requests[0].line, format!("POST {sent}/v1/tool-calls"), "{prefix}");
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

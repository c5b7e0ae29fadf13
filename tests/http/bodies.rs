//! Is each body taken that should be, and each other refused with the reason, its key still free?

use callonce::engine::Store;
use callonce::testing::app::App;
use callonce::testing::raw_http::{Answer, request};
use serde_json::json;

use super::{CHARGE, accepted, calls, refused, settle, text};

const KEY: &str = "Idempotency-Key: k";

/// Each body is refused, its message says what is expected, and nothing is stored.
#[track_caller]
fn are_refused(cases: &[(&str, &str)]) {
    let app = App::start();
    for (body, says) in cases {
        let problem = refused(&app.post("k", &[], body), 400, "bad_request");
        assert!(text(&problem, "detail").contains(says), "{body}: {problem}");
        assert_eq!(problem["retryable"], false);
    }
    assert_eq!(calls(&app), 0);
    accepted(&app.post("k", &[], CHARGE));
}

#[test]
fn args_have_to_be_an_object() {
    are_refused(&[
        (r#"{"tool":"sleep"}"#, "`args` is missing"),
        (r#"{"tool":"sleep","args":null}"#, "`args` is null"),
        (r#"{"tool":"sleep","args":[]}"#, "`args` is a list"),
        (r#"{"tool":"sleep","args":"abc"}"#, "`args` is a string"),
        (r#"{"tool":"sleep","args":""}"#, "`args` is a string"),
        (r#"{"tool":"sleep","args":0}"#, "`args` is a number"),
        (r#"{"tool":"sleep","args":true}"#, "`args` is"),
        (r#"{"tool":"charge","args":"{\"amount\":100}"}"#, "holds JSON; send the object itself"),
        (r#"{"tool":"sleep","args":"{}"}"#, "holds JSON"),
    ]);
    settle(&App::start(), "k", r#"{"tool":"sleep","args":{}}"#);
}

#[test]
fn a_tool_has_to_be_one_that_is_there() {
    let long = format!(r#"{{"tool":"{}","args":{{}}}}"#, "t".repeat(1_000_000));
    are_refused(&[
        (r#"{"args":{}}"#, "`tool` is missing"),
        (r#"{"tool":null,"args":{}}"#, "`tool` is null"),
        (r#"{"tool":1,"args":{}}"#, "`tool` is a number"),
        (r#"{"tool":["charge"],"args":{}}"#, "`tool` is a list"),
        (r#"{"tool":"","args":{}}"#, "tool: is empty"),
        (r#"{"tool":" ","args":{}}"#, "tool: "),
        (r#"{"tool":" charge","args":{"amount":1}}"#, "tool: "),
        (r#"{"tool":"charge\u0000","args":{"amount":1}}"#, "tool: "),
        (
            r#"{"tool":"CHARGE","args":{"amount":1}}"#,
            "there is no tool `CHARGE`; there are charge, fail, send_email, sleep",
        ),
        (r#"{"tool":"refund","args":{}}"#, "there is no tool `refund`"),
        (&long, "tool: is 1000000 bytes long; 128 are allowed"),
    ]);
}

#[test]
fn other_members_have_their_kinds_and_there_are_no_more() {
    let client = format!(r#"{{"tool":"sleep","args":{{}},"client_id":"{}"}}"#, "c".repeat(256));
    are_refused(&[
        (r#"{"tool":"sleep","args":{},"client_id":5}"#, "`client_id` is a number"),
        (r#"{"tool":"sleep","args":{},"client_id":""}"#, "client_id: is empty"),
        (r#"{"tool":"sleep","args":{},"client_id":["x"]}"#, "`client_id` is a list"),
        (&client, "client_id: is 256 bytes long; 255 are allowed"),
        (r#"{"tool":"sleep","args":{},"seq":"1"}"#, "`seq` is a string"),
        (r#"{"tool":"sleep","args":{},"seq":-1}"#, "`seq` is -1"),
        (r#"{"tool":"sleep","args":{},"seq":1.5}"#, "`seq` is 1.5"),
        (r#"{"tool":"sleep","args":{},"seq":9007199254740992}"#, "`seq` is 9007199254740992"),
        (r#"{"tool":"sleep","args":{},"seq":9223372036854775808}"#, "`seq` is 9223372036854775808"),
        (r#"{"tool":"sleep","args":{},"seq":1e300}"#, "`seq` is 1e+300"),
        (r#"{"tool":"sleep","args":{},"seq":true}"#, "`seq` is"),
        (r#"{"tool":"sleep","args":{},"priority":1}"#, "`priority` is not a member"),
        (r#"{"tool":"sleep","args":{},"Tool":"x"}"#, "`Tool` is not a member"),
        (r#"{"tool":"sleep","args":{},"idem_key":"k"}"#, "`idem_key` is not a member"),
        (r#"{"tool":"sleep","args":{},"__proto__":{}}"#, "`__proto__` is not a member"),
    ]);
    let app = App::start();
    let client = format!(r#"{{"tool":"sleep","args":{{}},"client_id":"{}","seq":1e2}}"#, "c".repeat(255));
    assert_eq!(settle(&app, "k", &client)["seq"], json!(100));
    assert_eq!(settle(&app, "k2", r#"{"tool":"sleep","args":{},"seq":-0}"#)["seq"], json!(0));
}

#[test]
fn a_name_stands_only_once_wherever_it_is() {
    are_refused(&[
        (r#"{"tool":"charge","tool":"sleep","args":{"amount":1}}"#, "more than once"),
        (r#"{"tool":"charge","args":{},"args":{"amount":1}}"#, "more than once"),
        (r#"{"tool":"charge","args":{"amount":1,"amount":100}}"#, "in `args`"),
        (r#"{"tool":"charge","args":{"amount":1,"v":{"a":{"b":[{"c":1,"c":1}]}}}}"#, "`args.v.a.b[0]`"),
        (r#"{"tool":"charge","args":{"amount":1,"a":1,"\u0061":2}}"#, "more than once"),
        (r#"{"tool":"charge","\u0074ool":"charge","args":{"amount":1}}"#, "more than once"),
    ]);
}

#[test]
fn a_body_is_one_object_and_nothing_else() {
    are_refused(&[
        ("", "byte 0"),
        (" ", "the text ends"),
        ("null", "the body is null; expected an object"),
        ("[]", "the body is a list; expected an object"),
        ("\"charge\"", "the body is a string"),
        ("{}", "`tool` is missing"),
        ("tool=charge&amount=100", "expected a value, found `t`"),
        (&format!("{CHARGE}{CHARGE}"), "expected the end of the text"),
        (&format!("{CHARGE} x"), "expected the end of the text"),
        (&format!("\u{feff}{CHARGE}"), "byte-order mark"),
        (&CHARGE[..CHARGE.len() - 1], "the text ends"),
    ]);
    let app = App::start();
    let first = settle(&app, "k", CHARGE);
    assert_eq!(settle(&app, "k", &format!("\r\n\t {CHARGE}\n\n")), first);
}

#[test]
fn the_args_are_checked_by_their_tool_before_the_key_is_taken() {
    are_refused(&[
        (r#"{"tool":"charge","args":{}}"#, "args.amount: expected a whole number from 1"),
        (r#"{"tool":"charge","args":{"amount":"100"}}"#, "args.amount: "),
        (r#"{"tool":"charge","args":{"amount":true}}"#, "args.amount: "),
        (r#"{"tool":"charge","args":{"amount":null}}"#, "args.amount: "),
        (r#"{"tool":"charge","args":{"amount":0}}"#, "found 0"),
        (r#"{"tool":"charge","args":{"amount":-1}}"#, "found -1"),
        (r#"{"tool":"charge","args":{"amount":1.5}}"#, "found 1.5"),
        (r#"{"tool":"charge","args":{"amount":9223372036854775808}}"#, "found 9223372036854775808"),
        (r#"{"tool":"charge","args":{"amount":9007199254740992e0}}"#, "args.amount: "),
        (r#"{"tool":"send_email","args":{"subject":"s"}}"#, "args.to: "),
        (r#"{"tool":"send_email","args":{"to":[],"subject":"s"}}"#, "args.to: "),
        (r#"{"tool":"send_email","args":{"to":"a"}}"#, "args.subject: "),
        (r#"{"tool":"send_email","args":{"to":"a","subject":"s","body":1}}"#, "args.body: "),
        (r#"{"tool":"sleep","args":{"seconds":10.5}}"#, "args.seconds: "),
        (r#"{"tool":"sleep","args":{"seconds":-1}}"#, "args.seconds: "),
        (r#"{"tool":"fail","args":{"retryable":"yes"}}"#, "args.retryable: "),
        (r#"{"tool":"charge","args":{"amount":1,"_crash_after_commit":true}}"#, "--chaos"),
    ]);
    let app = App::start();
    for (key, amount, charged) in [
        ("a", "9223372036854775807", "9223372036854775807"),
        ("b", "1e3", "1000"),
        ("c", "9007199254740991.0", "9007199254740991"),
    ] {
        let call = settle(&app, key, &format!(r#"{{"tool":"charge","args":{{"amount":{amount}}}}}"#));
        assert_eq!(call["result"]["charged"].to_string(), charged);
    }
}

/// Sends `CHARGE` with these header lines and no content type but theirs.
fn declared<S: Store>(app: &App<S>, headers: &[&str]) -> Answer {
    app.send(request("POST", "/v1/tool-calls", &[&[KEY], headers].concat(), CHARGE.as_bytes()))
}

#[test]
fn a_body_has_to_be_declared_as_json() {
    let app = App::start();
    let not_json: [&[&str]; 15] = [
        &[],
        &["Content-Type:"],
        &["Content-Type: text/plain"],
        &["Content-Type: application/x-www-form-urlencoded"],
        &["Content-Type: multipart/form-data; boundary=x"],
        &["Content-Type: application/jsonp"],
        &["Content-Type: json"],
        &["Content-Type: */*"],
        &["Content-Type: application/json; charset=utf-16"],
        &["Content-Type: application/json; charset=latin1"],
        // A second line could make a proxy and this server see two different types.
        &["Content-Type: application/json", "Content-Type: text/plain"],
        &["Content-Type: application/json", "Content-Type: application/json"],
        &["Content-Type: application/json", "Content-Encoding: gzip"],
        &["Content-Type: application/json", "Content-Encoding: identity, br"],
        &["Content-Type: application/json", "Content-Encoding: identity", "Content-Encoding: gzip"],
    ];
    for headers in not_json {
        let problem = refused(&declared(&app, headers), 415, "bad_request");
        assert!(text(&problem, "detail").starts_with("Content-"), "{headers:?}: {problem}");
    }
    assert_eq!(calls(&app), 0);
    for content_type in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
        "application/json ; profile=x; charset=utf-8",
        "APPLICATION/JSON",
        "application/vnd.x+json",
        "application/problem+json",
        "application/json\r\nContent-Encoding: identity",
    ] {
        let answer = declared(&app, &[&format!("Content-Type: {content_type}")]);
        assert!(matches!(answer.status, 200 | 202), "{content_type}: {answer:?}");
    }
    assert_eq!(calls(&app), 1);
}

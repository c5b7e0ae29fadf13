//! Every place of a request that takes a string, and texts that mean something to somebody else in each: refused in words, or
//! taken for what they are; never a fault, never a call that was not meant.

use callonce::testing::app::App;
use callonce::testing::json_texts::{ACCEPTED, REFUSED};
use callonce::testing::raw_http::{Answer, request};

use super::naughty::TEXTS;
use super::{CHARGE, calls, settle};

/// All texts: naughty ones, JSON and what is none.
fn texts() -> Vec<&'static [u8]> {
    let naughty = TEXTS.iter().map(|text| text.as_bytes());
    let json = ACCEPTED.iter().map(|(text, _)| text.as_bytes());
    naughty.chain(json).chain(REFUSED.iter().copied()).collect()
}

/// What HTTP lets a header's value hold.
fn fits_a_header(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte == b'\t' || (*byte >= 0x20 && *byte != 0x7f))
}

fn escaped(text: &[u8]) -> String {
    text.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// Fails if the answer is a fault, or a refusal that does not say why.
#[track_caller]
fn is_sound(answer: &Answer, place: &str, text: &[u8]) {
    assert!(answer.status < 500, "{place} {}: {answer:?}", text.escape_ascii());
    if answer.status >= 400 && !answer.body.is_empty() {
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
        assert_eq!(answer.json()["status"], answer.status, "{place} {}", text.escape_ascii());
    }
}

/// The places in a query.
const PARAMETERS: [&str; 7] = ["status", "tool", "client_id", "held", "limit", "cursor", "other"];

#[test]
fn in_each_parameter_of_a_list_and_in_each_path() {
    let app = App::start();
    let known = settle(&app, "known", CHARGE);
    let mut connection = app.connect();
    for text in texts() {
        let escaped = escaped(text);
        let queries = PARAMETERS.map(|name| format!("/v1/tool-calls?{name}={escaped}"));
        let paths = [
            format!("/v1/tool-calls?{escaped}"),
            format!("/v1/tool-calls/{escaped}"),
            format!("/v1/tool-calls/{escaped}/events"),
            format!("/v1/tool-calls/by-key/{escaped}"),
            format!("/v1/tool-calls/{}?at={escaped}", known["call_id"].as_str().expect("a text")),
            format!("/{escaped}"),
        ];
        for path in queries.iter().chain(&paths) {
            let answer = connection.exchange(request("GET", path, &[], b""));
            is_sound(&answer, path, text);
            // Nothing but the known call is there to be found.
            if answer.status == 200 && path.contains("by-key") {
                panic!("{path} found {answer:?}");
            }
        }
    }
    assert_eq!(app.get("/v1/tool-calls/by-key/known", &[]).json(), known);
}

#[test]
fn in_each_header_that_is_read_or_is_not() {
    let app = App::start();
    let known = settle(&app, "known", CHARGE);
    let mut connection = app.connect();
    for text in texts().into_iter().filter(|text| fits_a_header(text)) {
        for name in ["Prefer", "If-None-Match", "User-Agent", "Accept", "Origin", "Cookie", "X-Forwarded-For"]
        {
            let line = [name.as_bytes(), b": ", text].concat();
            let head =
                [b"GET /v1/tool-calls/by-key/known HTTP/1.1\r\nHost: a\r\n", &line[..], b"\r\n\r\n"].concat();
            let answer = connection.exchange(&head);
            is_sound(&answer, name, text);
            match name {
                // A list of tags, or `*`, may name the version there is.
                "If-None-Match" => assert!([200, 304, 400].contains(&answer.status), "{answer:?}"),
                "Prefer" => assert!([200, 400].contains(&answer.status), "{answer:?}"),
                // Nobody reads these.
                _ => assert_eq!((answer.status, answer.json()), (200, known.clone()), "{name}"),
            }
        }
    }
}

#[test]
fn in_each_header_of_a_post_without_a_call_that_was_not_meant() {
    let app = App::start();
    settle(&app, "known", CHARGE);
    for text in texts().into_iter().filter(|text| fits_a_header(text)) {
        for name in ["Content-Type", "Content-Encoding", "Expect", "Host", "Prefer"] {
            let line = |of: &str, usual: &str| match of == name {
                true => [of.as_bytes(), b": ", text, b"\r\n"].concat(),
                false => format!("{of}: {usual}\r\n").into_bytes(),
            };
            let bytes = [
                b"POST /v1/tool-calls HTTP/1.1\r\nIdempotency-Key: known\r\n".to_vec(),
                line("Host", "a"),
                line("Content-Type", "application/json"),
                line("Content-Encoding", "identity"),
                line("Expect", "nothing"),
                line("Prefer", "nothing"),
                format!("Content-Length: {}\r\n\r\n{CHARGE}", CHARGE.len()).into_bytes(),
            ];
            let answer = app.connect().exchange(bytes.concat());
            is_sound(&answer, name, text);
            // Where it is taken, the key leads to the call that it led to.
            assert!(
                answer.status >= 400 || answer.header("idempotent-replayed") == Some("true"),
                "{answer:?}"
            );
        }
    }
    assert_eq!(calls(&app), 1);
}

#[test]
fn as_a_tool_and_as_the_whole_value_of_each_member() {
    let app = App::start();
    for (row, text) in TEXTS.iter().enumerate() {
        let string = serde_json::Value::from(*text).to_string();
        for body in [
            format!(r#"{{"tool":{string},"args":{{"amount":1}}}}"#),
            format!(r#"{{"tool":"charge","args":{string}}}"#),
            format!(r#"{{"tool":"charge","args":{{"amount":{string}}}}}"#),
            format!(r#"{{"tool":"charge","args":{{"amount":1}},"seq":{string}}}"#),
            format!(r#"{{"tool":"charge","args":{{"amount":1}},{string}:1}}"#),
        ] {
            let answer = app.post(&format!("k{row}"), &[], &body);
            is_sound(&answer, &body, text.as_bytes());
            assert_eq!(answer.status, 400, "{body}: {answer:?}");
        }
    }
    assert_eq!(calls(&app), 0);
}

//! Is one key one key, however it is spelled, and what is no key refused?

use callonce::engine::Store;
use callonce::testing::app::App;
use callonce::testing::raw_http::{Answer, request};

use super::{CHARGE, accepted, calls, found, refused, settle, text};

/// Sends a call with these key header lines, as bytes.
fn post<S: Store>(app: &App<S>, lines: &[&[u8]]) -> Answer {
    let mut bytes = b"POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n".to_vec();
    for line in lines {
        bytes.extend_from_slice(&[line, b"\r\n".as_slice()].concat());
    }
    bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n{CHARGE}", CHARGE.len()).as_bytes());
    app.send(bytes)
}

fn header(value: &[u8]) -> Vec<u8> {
    [b"Idempotency-Key: ", value].concat()
}

#[test]
fn both_spellings_name_one_call() {
    let app = App::start();
    let call = settle(&app, "\"k1\"", CHARGE);
    assert_eq!(text(&call, "idem_key"), "k1");
    assert_eq!(settle(&app, "k1", CHARGE), call);
    for spelling in ["k1", "%22k1%22", "%6b1", "%6B%31", "\"k1\""] {
        assert_eq!(found(&app.get(&format!("/v1/tool-calls/by-key/{spelling}"), &[])), call, "{spelling}");
    }
    assert_eq!(calls(&app), 1);
}

#[test]
fn each_spelling_names_the_key_it_should() {
    let longest = "x".repeat(255);
    let quoted = format!("\"{longest}\"");
    let cases: &[(&str, &str)] = &[
        ("\"foo\"", "foo"),
        ("foo", "foo"),
        (" k1\t", "k1"),
        ("\t \"k1\" ", "k1"),
        ("'foo'", "'foo'"),
        ("K1", "K1"),
        (":aGVsbG8=:", ":aGVsbG8=:"),
        ("?1", "?1"),
        ("42", "42"),
        ("tok", "tok"),
        (r#""a\\b""#, r"a\b"),
        (r"a\b", r"a\b"),
        ("\"8e03978e-40d5-43e8-bc93-6894a57f9324\"", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
        ("../../etc/passwd", "../../etc/passwd"),
        ("a%20b", "a%20b"),
        ("x", "x"),
        (&longest, &longest),
        (&quoted, &longest),
    ];
    let app = App::start();
    for (value, key) in cases {
        let answer = post(&app, &[&header(value.as_bytes())]);
        assert!(matches!(answer.status, 200 | 202), "{value}: {answer:?}");
        assert_eq!(text(&answer.json(), "idem_key"), *key, "{value}");
    }
    let keys: std::collections::BTreeSet<_> = cases.iter().map(|(_, key)| key).collect();
    assert_eq!(calls(&app), keys.len() as u64);
}

#[test]
fn the_name_of_the_header_has_no_case() {
    let app = App::start();
    for name in ["IDEMPOTENCY-KEY", "idempotency-key", "iDEMPOTENCY-kEY"] {
        let answer = post(&app, &[format!("{name}: k1").as_bytes()]);
        assert_eq!(text(&answer.json(), "idem_key"), "k1", "{name}");
    }
    assert_eq!(calls(&app), 1);
}

#[test]
fn what_names_no_key_is_missing() {
    let app = App::start();
    let nothing: [&[&[u8]]; 5] = [
        &[],
        &[b"Idempotency-Key:"],
        &[b"Idempotency-Key:  \t "],
        &[b"Idempotency-Key: \"\""],
        &[b"X-Idempotency-Key: k1"],
    ];
    for lines in nothing {
        refused(&post(&app, lines), 400, "missing_idempotency_key");
    }
    assert_eq!(calls(&app), 0);
}

#[test]
fn what_cannot_be_a_key_is_refused_and_takes_none() {
    let too_long = "x".repeat(256);
    let quoted = format!("\"{too_long}\"");
    let far_too_long = "0123456789abcdef".repeat(512);
    let refused_values: &[&[u8]] = &[
        b"\"foo bar\"",
        b"foo bar",
        b"\"   \"",
        "\"f\u{fc}\u{fc}\"".as_bytes(),
        b"\"\t\"",
        b"a\tb",
        b"\"foo",
        br#""foo \,""#,
        br#""foo \""#,
        br#""foo \"#,
        br#""foo \"bar\" \\ baz""#,
        br#""a\"b""#,
        b"\"k1\";a=1",
        b"k1;a=1",
        b"k1, k2",
        b"k1,k1",
        b"\"k1\", \"k2\"",
        b"\"k1\"k2",
        b"k\"1",
        b"caf\xE9",
        "\u{5f20}".as_bytes(),
        b"\x80",
        b"k\xFF",
        too_long.as_bytes(),
        quoted.as_bytes(),
        far_too_long.as_bytes(),
    ];
    let app = App::start();
    for value in refused_values {
        let problem = refused(&post(&app, &[&header(value)]), 400, "bad_request");
        assert!(text(&problem, "detail").contains("idempotency key"), "{problem}");
    }
    let two_lines: [[&[u8]; 2]; 5] =
        [[b"k1", b"k2"], [b"k1", b"k1"], [b"\"foo", b"bar\""], [b"", b"k1"], [b"k1", b"\"k1\""]];
    for [first, second] in two_lines {
        let answer = post(&app, &[&header(first), b"Accept: */*", &header(second)]);
        let problem = refused(&answer, 400, "bad_request");
        assert!(text(&problem, "detail").contains("2 Idempotency-Key headers"), "{problem}");
    }
    for key in ["k1", "k2", "foo", "k1,k2", "k1%2C%20k2"] {
        assert_ne!(app.get(&format!("/v1/tool-calls/by-key/{key}"), &[]).status, 200, "{key}");
    }
    assert_eq!(calls(&app), 0);
}

#[test]
fn keys_that_agree_in_all_but_their_last_byte_are_two() {
    let app = App::start();
    let start = "Zq7-".repeat(64);
    let (a, b) = (&start[..254], &start[..255]);
    let c = format!("{a}_");
    for key in [a, b, &c] {
        accepted(&app.post(key, &[], CHARGE));
    }
    assert_eq!(calls(&app), 3);
    for longer in [format!("{b}a"), format!("{b}b")] {
        refused(&app.post(&longer, &[], CHARGE), 400, "bad_request");
        refused(&app.get(&format!("/v1/tool-calls/by-key/{longer}"), &[]), 400, "bad_request");
    }
}

#[test]
fn a_key_larger_than_a_head_may_be_is_refused_without_harm() {
    let app = App::start();
    let answer = app.post(&"k".repeat(500 << 10), &[], CHARGE);
    assert_eq!((answer.status, answer.body.len()), (431, 0));
    assert_eq!(calls(&app), 0);
}

#[test]
fn a_control_character_in_a_head_is_refused_without_harm() {
    let app = App::start();
    for value in [b"k\x00".as_slice(), b"k\x01", b"k\x7f", b"\" \n \"", b"k\r1"] {
        let answer = post(&app, &[&header(value)]);
        assert_eq!(answer.status, 400, "{}", value.escape_ascii());
    }
    assert_eq!(calls(&app), 0);
}

#[test]
fn a_refused_key_leaves_the_connection_in_order() {
    let app = App::start();
    let mut connection = app.connect();
    for key in ["caf\u{e9}", "a b", "\"open"] {
        let key = format!("Idempotency-Key: {key}");
        let answer = connection.exchange(request("POST", "/v1/tool-calls", &[&key], b""));
        refused(&answer, 400, "bad_request");
        assert_eq!(connection.exchange(request("GET", "/livez", &[], b"")).status, 200, "{key}");
    }
}

#[test]
fn a_key_in_a_path_is_decoded_once_and_strictly() {
    let app = App::start();
    for key in ["a+b", "..", "a?b", "a/b", "%zz", "%41", "~!@#$&'()*-._=:|{}[]^`<>\\"] {
        let call = settle(&app, key, CHARGE);
        assert_eq!(text(&call, "idem_key"), key);
        let escaped: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert_eq!(found(&app.get(&format!("/v1/tool-calls/by-key/{escaped}"), &[])), call, "{key}");
    }
    for (path, key) in
        [("a+b", "a+b"), ("%2e%2e", ".."), ("a%3Fb?at=1", "a?b"), ("%2541", "%41"), ("%25zz", "%zz")]
    {
        let call = found(&app.get(&format!("/v1/tool-calls/by-key/{path}"), &[]));
        assert_eq!(text(&call, "idem_key"), key);
    }
    for path in
        ["%zz", "%", "%FF", "%00", "a%20b", "a%", "a%4", "%41%4g", "k%C3%A9", "%0A", "a%2Cb", "a%3Bb", "%22a"]
    {
        let problem = refused(&app.get(&format!("/v1/tool-calls/by-key/{path}"), &[]), 400, "bad_request");
        assert!(text(&problem, "detail").contains("key"), "{path}: {problem}");
    }
    refused(&app.get("/v1/tool-calls/by-key/%22%22", &[]), 400, "missing_idempotency_key");
    refused(&app.get("/v1/tool-calls/by-key/A+b", &[]), 404, "not_found");
}

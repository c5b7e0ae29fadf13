//! Does it keep to HTTP where a careless server would not, and say no more than it should?

use callonce::testing::app::App;
use callonce::testing::raw_http::request;
use serde_json::Value;

use super::{CHARGE, calls, found, members, refused, settle, text};

#[test]
fn a_request_has_to_say_which_host_it_is_for() {
    let app = App::start();
    let with = |version: &str, hosts: &str| format!("GET /livez HTTP/{version}\r\n{hosts}\r\n");
    for hosts in ["", "Host: a\r\nHost: b\r\n", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: u@h\r\n"] {
        let problem = refused(&app.send(with("1.1", hosts)), 400, "bad_request");
        assert!(text(&problem, "detail").contains("Host"), "{hosts}: {problem}");
    }
    for hosts in ["Host: a\r\n", "Host: [::1]:8081\r\n", "Host:\r\n", "HOST: A\r\n"] {
        assert_eq!(app.send(with("1.1", hosts)).status, 200, "{hosts}");
    }
}

#[test]
fn a_line_may_end_as_lenient_senders_end_it() {
    let app = App::start();
    // RFC 9112, section 2.2, lets a recipient take a bare line feed for the end of a line.
    assert_eq!(app.send("GET /livez HTTP/1.1\nHost: a\n\n").status, 200);
    assert_eq!(app.send("\r\nGET /livez HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
}

#[test]
fn what_is_no_http_is_refused_without_a_body() {
    let app = App::start();
    for bytes in [
        &b"GET\r\n\r\n"[..],
        b"GET /livez\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost a\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET /li vez HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET /livez HTTP/3.0\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
        b"\x00\x00\x00\x00\r\n\r\n",
        b"{\"tool\":\"charge\"}\r\n\r\n",
    ] {
        let answer = app.connect().try_exchange(bytes);
        let refusal = answer.map(|answer| (answer.status, answer.body.len()));
        assert!(matches!(refusal, None | Some((400 | 505, 0))), "{}: {refusal:?}", bytes.escape_ascii());
    }
    assert_eq!(calls(&app), 0);
}

#[test]
fn a_body_with_two_lengths_is_not_guessed_at() {
    let app = App::start();
    // What one server reads as a body, another could read as a second request.
    let smuggled = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    let bytes = format!(
        "POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\nContent-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}",
        5 + smuggled.len()
    );
    let mut connection = app.connect();
    let first = connection.try_exchange(bytes);
    assert!(first.as_ref().is_none_or(|answer| answer.status == 400), "{first:?}");
    assert!(connection.is_closed(), "nothing may be read after what has two meanings");
    assert_eq!(calls(&app), 0);
}

#[test]
fn requests_on_one_connection_are_answered_in_their_order() {
    let app = App::start();
    let mut connection = app.connect();
    let headers = ["Idempotency-Key: k", "Content-Type: application/json", "Prefer: wait=60"];
    let three = [
        request("POST", "/v1/tool-calls", &headers, CHARGE.as_bytes()),
        request("GET", "/v1/tool-calls/by-key/k", &[], b""),
        request("GET", "/nowhere", &[], b""),
    ];
    connection.send(three.concat());
    let call = found(&connection.answer());
    assert_eq!(found(&connection.answer()), call);
    refused(&connection.answer(), 404, "not_found");
    // HTTP/1.0 and whoever says so end the connection after the answer.
    let mut last = app.connect();
    assert_eq!(last.exchange(request("GET", "/livez", &["Connection: close"], b"")).status, 200);
    assert!(last.is_closed());
}

#[test]
fn every_answer_says_what_it_is_and_nothing_about_the_server() {
    let app = App::start();
    settle(&app, "k", CHARGE);
    for path in
        ["/v1/tool-calls", "/v1/tool-calls/by-key/k", "/stats", "/metrics", "/livez", "/readyz", "/nowhere"]
    {
        let answer = app.get(path, &["Accept: text/html", "Accept-Encoding: gzip", "Origin: http://evil"]);
        for there in ["content-type", "content-length", "date"] {
            assert!(answer.header(there).is_some(), "{path} has no {there}");
        }
        for absent in
            ["server", "x-powered-by", "set-cookie", "access-control-allow-origin", "content-encoding"]
        {
            assert_eq!(answer.header(absent), None, "{path}");
        }
    }
}

#[test]
fn health_and_numbers_have_their_members() {
    let app = App::start();
    assert_eq!(found(&app.get("/livez", &[])).to_string(), r#"{"status":"alive"}"#);
    assert_eq!(found(&app.get("/readyz", &[])).to_string(), r#"{"status":"ready"}"#);
    let names = [
        "calls",
        "effects",
        "by_status",
        "attempts",
        "held",
        "lease_over",
        "oldest_pending_seconds",
        "position",
        "wal_bytes",
    ];
    let empty = found(&app.get("/stats", &[]));
    assert_eq!(members(&empty), names);
    assert!(empty.to_string().starts_with(r#"{"calls":0,"effects":0,"by_status":{},"attempts":{},"held":0,"lease_over":0,"oldest_pending_seconds":null,"position":0,"#));
    settle(&app, "k1", CHARGE);
    settle(&app, "k2", r#"{"tool":"fail","args":{}}"#);
    let two = found(&app.get("/stats", &[]));
    assert_eq!(members(&two), names);
    assert!(two.to_string().starts_with(r#"{"calls":2,"effects":1,"by_status":{"failed":1,"succeeded":1},"attempts":{"1":2},"held":0,"lease_over":0,"oldest_pending_seconds":null,"position":6,"#));
}

#[test]
fn a_refusal_stays_short_however_long_the_request() {
    let app = App::start();
    let long = "n".repeat(60_000);
    let longer = "n".repeat(1_000_000);
    let deep = format!(
        "{}{{\"v\":1,\"v\":2}}{}",
        format!("{{\"{}\":", "d".repeat(9_000)).repeat(60),
        "}".repeat(60)
    );
    settle(&app, "known", &format!(r#"{{"tool":"sleep","args":{{"{longer}":1}}}}"#));
    let refusals = [
        app.get(&format!("/{long}"), &[]),
        app.get(&format!("/v1/tool-calls/{long}"), &[]),
        app.get(&format!("/v1/tool-calls/by-key/{long}"), &[]),
        app.get(&format!("/v1/tool-calls?{long}=1"), &[]),
        app.get(&format!("/v1/tool-calls?tool={long}"), &[]),
        app.get(&format!("/v1/tool-calls?client_id=%FF{long}"), &[]),
        app.get("/v1/tool-calls/by-key/k", &[&format!("Prefer: wait={long}")]),
        app.send(request("PUT", &format!("/v1/tool-calls/{long}"), &[], b"")),
        app.send(request(&"M".repeat(20_000), "/livez", &[], b"")),
        app.send(request(
            "POST",
            "/v1/tool-calls",
            &["Idempotency-Key: k", &format!("Content-Type: {long}")],
            b"{}",
        )),
        app.post(&long, &[], CHARGE),
        app.post("k", &[], format!(r#"{{"{longer}":1}}"#)),
        app.post("k", &[], format!(r#"{{"tool":"{longer}","args":{{}}}}"#)),
        app.post("k", &[], format!(r#"{{"tool":"sleep","args":{{"{longer}":1,"{longer}":2}}}}"#)),
        app.post("k", &[], format!(r#"{{"tool":"sleep","args":{{}},"seq":{}}}"#, "9".repeat(1_000_000))),
        app.post("k", &[], format!(r#"{{"tool":"charge","args":{{"amount":{}}}}}"#, "9".repeat(1_000_000))),
        app.post("k", &[], format!(r#"{{"tool":"sleep","args":{deep}}}"#)),
        app.post("known", &[], r#"{"tool":"sleep","args":{}}"#),
    ];
    for (row, answer) in refusals.iter().enumerate() {
        assert!((400..500).contains(&answer.status), "{row}: {}", answer.status);
        assert!(answer.body.len() <= 16 * 1024, "refusal {row} has {} bytes", answer.body.len());
        let problem: Value = answer.json();
        assert!(!text(&problem, "detail").is_empty(), "{problem}");
    }
    assert_eq!(calls(&app), 1);
}

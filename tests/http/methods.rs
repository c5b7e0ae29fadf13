//! Does each route answer the methods it has, and say so about the others?

use callonce::testing::app::App;
use callonce::testing::raw_http::request;

use super::{CHARGE, calls, refused, settle, text};

/// Every route, with the methods it has.
fn routes(id: &str) -> [(String, &'static str); 9] {
    [
        ("/v1/tool-calls".into(), "GET, HEAD, POST"),
        (format!("/v1/tool-calls/{id}"), "GET, HEAD"),
        (format!("/v1/tool-calls/{id}/events"), "GET, HEAD"),
        ("/v1/tool-calls/by-key/k".into(), "GET, HEAD"),
        ("/stats".into(), "GET, HEAD"),
        ("/metrics".into(), "GET, HEAD"),
        ("/livez".into(), "GET, HEAD"),
        ("/readyz".into(), "GET, HEAD"),
        ("/v1/tool-calls?status=succeeded".into(), "GET, HEAD, POST"),
    ]
}

#[test]
fn head_is_get_without_the_body() {
    let app = App::start();
    let call = settle(&app, "k", CHARGE);
    for (path, _) in routes(text(&call, "call_id")) {
        // Numbers about the server itself move between two requests.
        let moves = path == "/metrics";
        let (head, get) = (app.send(request("HEAD", &path, &[], b"")), app.get(&path, &[]));
        assert_eq!((head.status, get.status), (200, 200), "{path}");
        assert!(head.body.is_empty() && !get.body.is_empty(), "{path}");
        for name in ["content-type", "etag", "content-length"] {
            let same = head.header(name) == get.header(name);
            assert!(same || (moves && name == "content-length"), "{path} {name}: {head:?} {get:?}");
        }
    }
    let mut connection = app.connect();
    for path in ["/livez", "/nowhere", "/v1/tool-calls/c_0"] {
        let head = connection.exchange(request("HEAD", path, &[], b""));
        assert!(head.body.is_empty(), "{path}");
        assert_eq!(connection.exchange(request("GET", path, &[], b"")).status, head.status, "{path}");
    }
    assert_eq!(calls(&app), 1);
}

#[test]
fn a_method_that_a_route_does_not_have_is_refused_with_those_it_has() {
    let app = App::start();
    let call = settle(&app, "k", CHARGE);
    for (path, allowed) in routes(text(&call, "call_id")) {
        for method in ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "POST", "get", "BREW", "PROPFIND"] {
            if method == "POST" && allowed.contains("POST") {
                continue;
            }
            let answer = app.send(request(method, &path, &["Idempotency-Key: k2"], b""));
            let problem = refused(&answer, 405, "bad_request");
            assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
            assert!(text(&problem, "detail").contains(method), "{method} {path}: {problem}");
        }
    }
    assert_eq!(calls(&app), 1);
    assert_eq!(app.get("/v1/tool-calls/by-key/k", &[]).json(), call);
}

#[test]
fn a_path_that_is_no_route_is_not_found_whatever_the_method() {
    let app = App::start();
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v1/tool-calls/",
        "/v1/tool-calls/by-key/",
        "/v1/tool-calls/by-key/a/b",
        "/v1/tool-calls/c_0/events/",
        "/v1/tool-calls/c_0/attempts",
        "/v2/tool-calls",
        "/V1/tool-calls",
        "/stats/",
        "//stats",
        "/%73tats",
        "/stats%00",
        "/../stats",
        "/favicon.ico",
        "/%FF",
        "/*",
    ] {
        for method in ["GET", "POST", "DELETE", "OPTIONS"] {
            let answer = app.send(request(method, path, &[], b""));
            let problem = refused(&answer, 404, "not_found");
            assert!(text(&problem, "title").contains("route"), "{method} {path}: {problem}");
            assert_eq!(answer.header("allow"), None, "{method} {path}");
        }
    }
}

#[test]
fn a_body_where_none_is_expected_is_ignored() {
    let app = App::start();
    let call = settle(&app, "k", CHARGE);
    for (path, _) in routes(text(&call, "call_id")) {
        let answer = app.send(request("GET", &path, &["Content-Type: application/json"], CHARGE.as_bytes()));
        assert_eq!(answer.status, 200, "{path}");
    }
    assert_eq!(calls(&app), 1);
}

#[test]
fn other_forms_of_a_target() {
    let app = App::start();
    // As a proxy sends it.
    assert_eq!(app.get("http://localhost/livez", &[]).status, 200);
    // Asterisk and authority are for servers and tunnels.
    for (method, target) in [("OPTIONS", "*"), ("CONNECT", "localhost:80")] {
        let answer = app.send(request(method, target, &[], b""));
        assert!(matches!(answer.status, 400 | 404 | 405), "{method} {target}: {answer:?}");
    }
}

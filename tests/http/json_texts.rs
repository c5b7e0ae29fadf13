//! Is JSON read strictly all the way from the socket to the store and back?

use callonce::domain::json::MAX_DEPTH;
use callonce::testing::app::App;
use callonce::testing::json_texts::{ACCEPTED, REFUSED};
use callonce::testing::raw_http::request;

use super::{accepted, calls, found, refused, text};

/// A body whose args hold this text as a value.
fn around(value: &[u8]) -> Vec<u8> {
    [br#"{"tool":"sleep","args":{"v":"#, value, b"}}"].concat()
}

#[test]
fn each_valid_text_is_stored_and_read_back_in_its_one_form() {
    let app = App::start();
    for (row, (sent, stored)) in ACCEPTED.iter().enumerate() {
        let posted = app.post(&format!("k{row}"), &[], around(sent.as_bytes()));
        let call = accepted(&posted);
        let read = app.get(text(&call, "query_url"), &[]);
        let list = app.get("/v1/tool-calls?limit=1", &[]);
        for answer in [posted, read, list] {
            let member = format!(r#""args":{{"v":{stored}}},"client_id""#);
            assert!(answer.text().contains(&member), "{sent}: {}", answer.text());
        }
    }
    assert_eq!(calls(&app), ACCEPTED.len() as u64);
}

#[test]
fn no_valid_text_is_a_call_by_itself() {
    let app = App::start();
    for (sent, _) in ACCEPTED {
        refused(&app.post("k", &[], sent), 400, "bad_request");
    }
    assert_eq!(calls(&app), 0);
}

#[test]
fn each_other_text_is_refused_alone_and_inside_a_body_and_the_server_goes_on() {
    let app = App::start();
    // The whole body is read each time, so the connection stays in order.
    let mut connection = app.connect();
    let headers = ["Idempotency-Key: k", "Content-Type: application/json"];
    for sent in REFUSED {
        for body in [sent.to_vec(), around(sent)] {
            let answer = connection.exchange(request("POST", "/v1/tool-calls", &headers, &body));
            let problem = refused(&answer, 400, "bad_request");
            let detail = text(&problem, "detail");
            assert!(detail.contains("the body is not valid: at line"), "{}: {detail}", body.escape_ascii());
        }
    }
    refused(&app.get("/v1/tool-calls/by-key/k", &[]), 404, "not_found");
    assert_eq!(calls(&app), 0);
}

/// A value nested so deep that the body around it is `depth` deep.
fn nested(depth: usize, open: &str, innermost: &str, close: &str) -> String {
    let levels = depth - 2;
    format!("{}{innermost}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn nesting_is_taken_up_to_the_limit_read_back_and_refused_beyond_it() {
    let app = App::start();
    for depth in [63, 64, 65, 126, 127, 128, 1_000, 100_000] {
        let values = [
            nested(depth, "[", "", "]"),
            nested(depth, r#"{"a":"#, "0", "}"),
            nested(depth, r#"["#, "1,2", "]"),
        ];
        for (kind, value) in values.iter().enumerate() {
            let key = format!("k{depth}-{kind}");
            let answer = app.post(&key, &[], around(value.as_bytes()));
            let by_key = app.get(&format!("/v1/tool-calls/by-key/{key}"), &[]);
            if depth <= MAX_DEPTH {
                accepted(&answer);
                found(&by_key);
                assert!(by_key.text().contains(&format!(r#""args":{{"v":{value}}}"#)), "{depth}");
            } else {
                let problem = refused(&answer, 400, "bad_request");
                assert!(text(&problem, "detail").contains("deeper than 64"), "{depth}: {problem}");
                refused(&by_key, 404, "not_found");
            }
        }
    }
    // What never closes is no way around.
    for unclosed in
        ["[".repeat(100_000), r#"{"a":"#.repeat(100_000), r#"{"tool":"sleep","args":"#.repeat(10_000)]
    {
        refused(&app.post("k", &[], &unclosed), 400, "bad_request");
    }
    assert_eq!(calls(&app), 6);
    assert_eq!(app.get("/v1/tool-calls", &[]).json()["calls"].as_array().map(Vec::len), Some(6));
}

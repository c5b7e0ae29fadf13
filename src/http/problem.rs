//! How a refusal looks: an RFC 9457 problem document that also carries a stable code.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

/// The media type of every refusal.
pub const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

#[derive(Serialize)]
struct Problem<'a> {
    r#type: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    error: Stable<'a>,
}

#[derive(Serialize)]
struct Stable<'a> {
    code: &'a str,
    message: &'a str,
}

/// An answer that says what is wrong: `detail` is for people, `code` for programs.
pub fn problem(status: StatusCode, code: &str, detail: &str) -> Response<Body> {
    let document = Problem {
        r#type: "about:blank",
        title: status.canonical_reason().unwrap_or("Error"),
        status: status.as_u16(),
        detail,
        error: Stable { code, message: detail },
    };
    let bytes = serde_json::to_vec(&document).expect("five members of text and a number always serialise");
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
    response
}

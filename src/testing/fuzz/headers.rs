//! Any bytes as a header: refused, or one key however it is spelled.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::id::IdemKey;
use crate::http::idempotency_key::{key_from_path_segment, parse_idempotency_key};
use crate::http::prefer;

/// A key that is accepted is a valid key, and its quoted spelling and its path segment name the same one.
pub fn key_header(bytes: &[u8]) {
    let Some(headers) = with("idempotency-key", bytes) else { return };
    let Ok(key) = parse_idempotency_key(&headers) else { return };
    IdemKey::parse(&key).expect("what the header accepts is a key");
    let quoted = format!("\"{}\"", key.replace('\\', "\\\\"));
    let quoted = with("idempotency-key", quoted.as_bytes()).expect("visible ASCII");
    assert_eq!(parse_idempotency_key(&quoted).as_deref(), Ok(key.as_str()), "the quoted spelling");
    let segment = utf8_percent_encode(&key, NON_ALPHANUMERIC).to_string();
    assert_eq!(key_from_path_segment(&segment).as_deref(), Ok(key.as_str()), "the path segment");
}

/// No preference makes the server wait longer than it grants.
pub fn prefer_header(bytes: &[u8]) {
    let Some(headers) = with("prefer", bytes) else { return };
    if let Ok(Some(wait)) = prefer::wait(&headers) {
        assert!(wait <= Duration::from_secs(60), "{wait:?}");
        let applied = prefer::preference_applied(wait);
        assert_eq!(applied.as_bytes(), format!("wait={}", wait.as_secs()).as_bytes());
    }
}

/// The header, if a server can be sent it at all.
fn with(name: &'static str, bytes: &[u8]) -> Option<HeaderMap> {
    let value = HeaderValue::from_bytes(bytes).ok()?;
    Some(HeaderMap::from_iter([(axum::http::HeaderName::from_static(name), value)]))
}

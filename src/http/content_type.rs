//! What does the body say it is?

use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};

use super::error::{ApiError, Kind};

/// Whether the body is declared as JSON, in UTF-8 and not compressed.
pub(super) fn expect_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse = |problem: String| Err(ApiError::new(Kind::UnsupportedMediaType, problem));
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    if encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return refuse("Content-Encoding: a compressed body is not accepted; send it as it is".into());
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(declared), None) = (types.next(), types.next()) else {
        return refuse("Content-Type: exactly one is needed: application/json".into());
    };
    let declared = String::from_utf8_lossy(declared.as_bytes()).to_ascii_lowercase();
    let (media_type, parameters) = declared.split_once(';').unwrap_or((&declared, ""));
    let media_type = media_type.trim();
    let is_json = media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"));
    if !is_json {
        return refuse(format!("Content-Type: `{media_type}` is not JSON; send application/json"));
    }
    for parameter in parameters.split(';') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"');
        if name.trim() == "charset" && value != "utf-8" {
            return refuse(format!("Content-Type: the charset `{value}` is not accepted; JSON is UTF-8"));
        }
    }
    Ok(())
}

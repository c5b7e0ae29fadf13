//! Refuses a body whose end two readers could see at two places: what one takes for a body is another one's next request.
//!
//! hyper sees to lengths: two that differ are refused, and after one beside a transfer coding the connection ends. It reads
//! whatever codings stand before `chunked` as if they were not there; a proxy may think otherwise.

use axum::http::HeaderMap;
use axum::http::header::TRANSFER_ENCODING;

/// A transfer coding that is not `chunked` alone, once. Answered with 400, and the end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Transfer-Encoding: only `chunked` is understood, once and alone")]
pub struct FramingError;

/// Checks how a request's body is framed.
///
/// # Errors
/// [`FramingError`] where the next request could be something else than its sender meant.
pub fn check_framing(headers: &HeaderMap) -> Result<(), FramingError> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => Ok(()),
        (Some(_), _) => Err(FramingError),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn chunked_alone_and_once_is_understood() {
        for (lines, is_understood) in [
            (&[][..], true),
            (&["chunked"], true),
            (&["CHUNKED"], true),
            (&["identity, chunked"], false),
            (&["gzip, chunked"], false),
            (&["chunked, chunked"], false),
            (&["chunked", "chunked"], false),
            (&["identity", "chunked"], false),
            (&[""], false),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(TRANSFER_ENCODING, HeaderValue::from_static(line));
            }
            assert_eq!(check_framing(&headers).is_ok(), is_understood, "{lines:?}");
        }
    }
}

//! `Prefer: wait=N`: how long a client would like an answer to be held back (RFC 7240).

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};

/// The longest wait that is granted: longer ones are cut by the proxies between client and server.
pub const MAX_WAIT: Duration = Duration::from_secs(60);
/// How much of a bad value an error shows, in bytes.
const SHOWN_BYTES: usize = 32;

/// A `wait` that is not a number of seconds. RFC 7240 would have a server ignore it; but a client that asked to wait
/// and was not made to would take the early answer for a late one, so it is told. Answered with 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`Prefer: wait` takes whole seconds, as in `Prefer: wait=30`; this request has `wait{given}`")]
pub struct PreferError {
    given: String,
}

/// The wait a request asks for, over all its `Prefer` lines; none if it asks for none.
///
/// The first `wait` counts, as RFC 7240 says. More than [`MAX_WAIT`] is granted as [`MAX_WAIT`], which the client
/// learns from [`preference_applied`]. Zero is a wish like any other. Other preferences, and parameters, are ignored.
///
/// # Errors
/// [`PreferError`] if `wait` has no value, or one that is not made of digits.
pub fn wait(headers: &HeaderMap) -> Result<Option<Duration>, PreferError> {
    for line in headers.get_all("prefer") {
        for preference in Split::new(line.as_bytes(), b',') {
            let preference = Split::new(preference, b';').next().unwrap_or_default();
            let (name, value) = match preference.iter().position(|&byte| byte == b'=') {
                Some(at) => (&preference[..at], Some(preference[at + 1..].trim_ascii())),
                None => (preference, None),
            };
            if name.trim_ascii().eq_ignore_ascii_case(b"wait") {
                return seconds(value).map(Some);
            }
        }
    }
    Ok(None)
}

/// The `Preference-Applied` that tells a client which wait was granted.
pub fn preference_applied(wait: Duration) -> HeaderValue {
    HeaderValue::try_from(format!("wait={}", wait.as_secs())).expect("digits are a header value")
}

fn seconds(value: Option<&[u8]>) -> Result<Duration, PreferError> {
    let refused = || {
        let given = value.map_or(String::new(), |bytes| {
            format!("={}", bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii())
        });
        PreferError { given }
    };
    let value = value.ok_or_else(refused)?;
    let digits = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(refused());
    }
    let most = MAX_WAIT.as_secs();
    let seconds = digits.iter().try_fold(0u64, |sum, digit| {
        let sum = sum * 10 + u64::from(digit - b'0');
        // Stop at the first sum that is too long a wait: the digits may go on past any integer.
        (sum <= most).then_some(sum)
    });
    Ok(seconds.map_or(MAX_WAIT, Duration::from_secs))
}

/// The parts of a header value between separators that stand outside of quoted strings.
struct Split<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Split<'a> {
    fn new(text: &'a [u8], separator: u8) -> Self {
        Self { rest: Some(text), separator }
    }
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.rest.take()?;
        let (mut quoted, mut escaped) = (false, false);
        for (at, &byte) in text.iter().enumerate() {
            if escaped {
                escaped = false;
            } else if quoted && byte == b'\\' {
                escaped = true;
            } else if byte == b'"' {
                quoted = !quoted;
            } else if byte == self.separator && !quoted {
                self.rest = Some(&text[at + 1..]);
                return Some(&text[..at]);
            }
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(lines: &[&'static str]) -> Result<Option<u64>, PreferError> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("prefer", HeaderValue::from_static(line));
        }
        wait(&headers).map(|wait| wait.map(|wait| wait.as_secs()))
    }

    #[test]
    fn a_wait_is_found_among_other_preferences() {
        let cases: &[(&[&'static str], Option<u64>)] = &[
            (&[], None),
            (&[""], None),
            (&["respond-async"], None),
            (&["waiting=3, await=4"], None),
            (&["wait=30"], Some(30)),
            (&["WAIT=30"], Some(30)),
            (&["wait = 30"], Some(30)),
            (&["wait=\"30\""], Some(30)),
            (&["wait=030"], Some(30)),
            (&["wait=0"], Some(0)),
            (&["wait=60"], Some(60)),
            (&["wait=61"], Some(60)),
            (&["wait=99999999999999999999999999"], Some(60)),
            (&["respond-async, wait=10; strict, wait=20"], Some(10)),
            (&["respond-async", "wait=10"], Some(10)),
            (&["wait=10", "wait=20"], Some(10)),
            (&["wait=10, wait=x"], Some(10)),
            (&["foo=\"a, wait=5\", wait=6"], Some(6)),
            (&["foo=\"a\\\", wait=5\", wait=6"], Some(6)),
            (&["foo; wait=5"], None),
            (&["foo=\"never closed, wait=5"], None),
            (&[", ,wait=5,"], Some(5)),
        ];
        for (lines, expected) in cases {
            assert_eq!(asked(lines), Ok(*expected), "{lines:?}");
        }
    }

    #[test]
    fn a_wait_that_is_no_number_of_seconds_is_refused_by_its_text() {
        for (line, shown) in [
            ("wait", "`wait`"),
            ("wait=", "`wait=`"),
            ("wait=\"\"", "`wait=\\\"\\\"`"),
            ("wait=abc", "`wait=abc`"),
            ("wait=-1", "`wait=-1`"),
            ("wait=1.5", "`wait=1.5`"),
            ("wait=30s", "`wait=30s`"),
            ("wait=3 0", "`wait=3 0`"),
            ("wait=\"3", "`wait=\\\"3`"),
        ] {
            let message = asked(&[line]).unwrap_err().to_string();
            assert!(message.ends_with(shown), "{line}: {message}");
        }
        assert!(
            asked(&[concat!("wait=", "x12345678901234567890123456789012345678901234567890")])
                .unwrap_err()
                .to_string()
                .len()
                < 130
        );
    }

    #[test]
    fn the_granted_wait_is_told() {
        assert_eq!(preference_applied(MAX_WAIT), "wait=60");
        assert_eq!(preference_applied(Duration::ZERO), "wait=0");
    }
}

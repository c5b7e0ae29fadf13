//! One spelling of a key from the many that mean it, in the `Idempotency-Key` header and in a path.
//!
//! A key is 1 to 255 visible ASCII characters other than `"`, `,` and `;`, so that no proxy can read two keys, or a
//! parameter, into it. It is written bare (`demo-1`) or as the structured-field string of the IETF draft
//! (`"demo-1"`); both name the same key.

use std::borrow::Cow;
use std::fmt;

use axum::http::HeaderMap;
use percent_encoding::percent_decode_str;

/// The longest key, in bytes, quotes and escapes not counted.
pub const MAX_KEY_BYTES: usize = 255;

/// Why a request names no key. Positions are in bytes of the value as it was sent, from 0, white space around it cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no such header.
    #[error(
        "the request has no Idempotency-Key header: make a key once for each call you intend, and send the same key on every retry"
    )]
    Missing,
    /// There is one, but it holds nothing.
    #[error(
        "the idempotency key is empty: make a key once for each call you intend, and send the same key on every retry"
    )]
    Blank,
    /// One request, two keys, even if they are the same: a proxy or a client that adds its own is to be found out.
    #[error("the request has {0} Idempotency-Key headers: send one")]
    SeveralLines(usize),
    /// Above [`MAX_KEY_BYTES`].
    #[error("the idempotency key is {0} bytes long: {MAX_KEY_BYTES} are allowed")]
    TooLong(usize),
    /// A byte that no key has.
    #[error("the idempotency key has {} at byte {at}: it is made of visible ASCII characters other than `\"`, `,` and `;`", Named(*.byte))]
    Forbidden {
        /// The byte.
        byte: u8,
        /// Its position.
        at: usize,
    },
    /// A string without its closing quote.
    #[error("the idempotency key starts with a quote and does not end with one")]
    Unterminated,
    /// A backslash in a string that is not before a quote or a backslash.
    #[error(
        "the idempotency key has a bad escape at byte {at}: inside quotes, `\\` stands only before `\"` or `\\`"
    )]
    BadEscape {
        /// Position of the backslash.
        at: usize,
    },
    /// Something after the closing quote: parameters, or a second key.
    #[error(
        "the idempotency key goes on after its closing quote, at byte {at}: parameters and lists are not allowed"
    )]
    Trailing {
        /// Position of the first byte after the quote that is not white space.
        at: usize,
    },
    /// A `%` in a path that is not before two hex digits.
    #[error(
        "the idempotency key in the path has a bad percent escape at byte {at}: `%` stands before two hex digits"
    )]
    BadPercent {
        /// Position of the `%`.
        at: usize,
    },
}

impl KeyError {
    /// No key at all (`missing_idempotency_key`), as against a malformed one (`bad_request`). Both are a 400.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing | Self::Blank)
    }
}

/// How a byte is called in an error that people read.
struct Named(u8);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b' ' => f.write_str("a space"),
            b'\t' => f.write_str("a tab"),
            byte if byte.is_ascii_graphic() => write!(f, "`{}`", char::from(byte)),
            byte if byte.is_ascii() => write!(f, "a control character (0x{byte:02X})"),
            byte => write!(f, "a byte outside of ASCII (0x{byte:02X})"),
        }
    }
}

/// The key of a request.
///
/// # Errors
/// [`KeyError`] if there is no header, more than one line of it, or one that names no key.
pub fn parse_idempotency_key(headers: &HeaderMap) -> Result<String, KeyError> {
    let mut lines = headers.get_all("idempotency-key").iter();
    let line = lines.next().ok_or(KeyError::Missing)?;
    match lines.count() {
        0 => parse_key(trim(line.as_bytes())),
        more => Err(KeyError::SeveralLines(1 + more)),
    }
}

/// The key that a path segment names, from the segment as it was sent. Both spellings work here too: `%22k1%22` is `k1`.
///
/// # Errors
/// [`KeyError`] if an escape is malformed or what it leads to names no key. `+` is a plus and nothing is trimmed.
pub fn key_from_path_segment(raw: &str) -> Result<String, KeyError> {
    let bytes = raw.as_bytes();
    let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let mut percents = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%').map(|(at, _)| at);
    if let Some(at) = percents.find(|at| !is_hex(at + 1) || !is_hex(at + 2)) {
        return Err(KeyError::BadPercent { at });
    }
    parse_key(&Cow::from(percent_decode_str(raw)))
}

fn parse_key(text: &[u8]) -> Result<String, KeyError> {
    let key = match text {
        [b'"', ..] => parse_quoted(text)?,
        bare => checked(bare.iter().copied().enumerate())?,
    };
    match key.len() {
        0 => Err(KeyError::Blank),
        length if length > MAX_KEY_BYTES => Err(KeyError::TooLong(length)),
        _ => Ok(key),
    }
}

/// A structured-field string (RFC 9651): `text` starts with its opening quote.
fn parse_quoted(text: &[u8]) -> Result<String, KeyError> {
    let mut inside = Vec::with_capacity(text.len());
    let mut at = 1;
    loop {
        match (text.get(at), text.get(at + 1)) {
            (None, _) => return Err(KeyError::Unterminated),
            (Some(b'"'), _) => break,
            (Some(b'\\'), None) => return Err(KeyError::Unterminated),
            (Some(b'\\'), Some(&escaped @ (b'"' | b'\\'))) => {
                inside.push((at, escaped));
                at += 2;
            }
            (Some(b'\\'), Some(_)) => return Err(KeyError::BadEscape { at }),
            (Some(&byte), _) => {
                inside.push((at, byte));
                at += 1;
            }
        }
    }
    match text[at + 1..].iter().position(|byte| !matches!(byte, b' ' | b'\t')) {
        Some(gap) => Err(KeyError::Trailing { at: at + 1 + gap }),
        None => checked(inside.into_iter()),
    }
}

/// The bytes as text, if a key may have each of them.
fn checked(bytes: impl Iterator<Item = (usize, u8)>) -> Result<String, KeyError> {
    bytes
        .map(|(at, byte)| match byte {
            b'"' | b',' | b';' => Err(KeyError::Forbidden { byte, at }),
            byte if byte.is_ascii_graphic() => Ok(char::from(byte)),
            byte => Err(KeyError::Forbidden { byte, at }),
        })
        .collect()
}

/// Without the optional white space that HTTP allows around a value.
fn trim(value: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let start = value.iter().position(is_text).unwrap_or(value.len());
    let end = value.iter().rposition(is_text).map_or(start, |last| last + 1);
    &value[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn parse(lines: &[&[u8]]) -> Result<String, KeyError> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("Idempotency-Key", HeaderValue::from_bytes(line).unwrap());
        }
        parse_idempotency_key(&headers)
    }

    #[test]
    fn spellings_that_name_a_key() {
        let long = "x".repeat(MAX_KEY_BYTES);
        let quoted = format!("\"{long}\"");
        let cases: &[(&str, &str)] = &[
            ("k1", "k1"),
            ("\"k1\"", "k1"),
            ("  k1\t", "k1"),
            ("\t\"k1\"  ", "k1"),
            ("K1", "K1"),
            ("'foo'", "'foo'"),
            (":aGVsbG8=:", ":aGVsbG8=:"),
            ("?1", "?1"),
            ("42", "42"),
            ("tok", "tok"),
            ("\"8e03978e-40d5-43e8-bc93-6894a57f9324\"", "8e03978e-40d5-43e8-bc93-6894a57f9324"),
            ("a\\b", "a\\b"),
            ("\"a\\\\b\"", "a\\b"),
            ("%41", "%41"),
            ("!#$&()*+-./:<=>?@[]^_`{|}~", "!#$&()*+-./:<=>?@[]^_`{|}~"),
            (&long, &long),
            (&quoted, &long),
        ];
        for (value, key) in cases {
            assert_eq!(parse(&[value.as_bytes()]).as_deref(), Ok(*key), "{value}");
        }
    }

    #[test]
    fn values_that_hold_no_key_are_missing_not_malformed() {
        for value in ["", " ", "\t \t", "\"\"", " \"\" "] {
            assert_eq!(parse(&[value.as_bytes()]), Err(KeyError::Blank), "{value:?}");
        }
        assert_eq!(parse(&[]), Err(KeyError::Missing));
        assert!(KeyError::Missing.is_missing() && KeyError::Blank.is_missing());
    }

    #[test]
    fn values_that_are_malformed_say_how_and_where() {
        let forbidden = |byte, at| KeyError::Forbidden { byte, at };
        let cases: &[(&[u8], KeyError)] = &[
            (b"foo bar", forbidden(b' ', 3)),
            (b"a\tb", forbidden(b'\t', 1)),
            (b"k1, k2", forbidden(b',', 2)),
            (b"k1;a=1", forbidden(b';', 2)),
            (b"foo\"", forbidden(b'"', 3)),
            (b"caf\xE9", forbidden(0xE9, 3)),
            (b"\x80", forbidden(0x80, 0)),
            ("张".as_bytes(), forbidden(0xE5, 0)),
            (b"\"foo bar\"", forbidden(b' ', 4)),
            (b"\"   \"", forbidden(b' ', 1)),
            (b"\"\t\"", forbidden(b'\t', 1)),
            ("\"füü\"".as_bytes(), forbidden(0xC3, 2)),
            (b"\"a,b\"", forbidden(b',', 2)),
            (b"\"a;b\"", forbidden(b';', 2)),
            (b"\"a\\\"b\"", forbidden(b'"', 2)),
            (b"\"foo \\\"bar\\\" \\\\ baz\"", forbidden(b' ', 4)),
            (b"\"foo", KeyError::Unterminated),
            (b"\"", KeyError::Unterminated),
            (b"\"foo \\\"", KeyError::Unterminated),
            (b"\"foo \\", KeyError::Unterminated),
            (b"\"foo \\,\"", KeyError::BadEscape { at: 5 }),
            (b"\"foo \\,", KeyError::BadEscape { at: 5 }),
            (b"\"k1\";a=1", KeyError::Trailing { at: 4 }),
            (b"\"k1\" ;a=1", KeyError::Trailing { at: 5 }),
            (b"\"k1\", \"k2\"", KeyError::Trailing { at: 4 }),
            (b"\"k1\"k2", KeyError::Trailing { at: 4 }),
            (&[b'x'; MAX_KEY_BYTES + 1], KeyError::TooLong(256)),
            (&[b'x'; 8192], KeyError::TooLong(8192)),
        ];
        for (value, error) in cases {
            assert_eq!(parse(&[value]), Err(*error), "{}", value.escape_ascii());
            assert!(!error.is_missing());
        }
        let message = parse(&[b"caf\xE9"]).unwrap_err().to_string();
        assert!(message.contains("a byte outside of ASCII (0xE9) at byte 3"), "{message}");
        let message = parse(&[b"k1, k2"]).unwrap_err().to_string();
        assert!(message.contains("`,` at byte 2"), "{message}");
    }

    #[test]
    fn two_lines_are_never_one_key() {
        for lines in [[&b"k1"[..], b"k2"], [b"k1", b"k1"], [b"\"foo", b"bar\""], [b"", b"k1"]] {
            assert_eq!(parse(&lines), Err(KeyError::SeveralLines(2)));
        }
        assert_eq!(parse(&[b"k1", b"k2", b"k3"]), Err(KeyError::SeveralLines(3)));
    }

    #[test]
    fn path_segments_are_decoded_strictly() {
        for (segment, key) in [
            ("k1", "k1"),
            ("%22k1%22", "k1"),
            ("\"k1\"", "k1"),
            ("a+b", "a+b"),
            ("%2e%2E", ".."),
            ("a%3Fb", "a?b"),
            ("a%2Fb", "a/b"),
            ("%2541", "%41"),
            ("%6B1", "k1"),
        ] {
            assert_eq!(key_from_path_segment(segment).as_deref(), Ok(key), "{segment}");
        }
        for (segment, error) in [
            ("", KeyError::Blank),
            ("%22%22", KeyError::Blank),
            ("%zz", KeyError::BadPercent { at: 0 }),
            ("%", KeyError::BadPercent { at: 0 }),
            ("a%4", KeyError::BadPercent { at: 1 }),
            ("%41%4g", KeyError::BadPercent { at: 3 }),
            ("%FF", KeyError::Forbidden { byte: 0xFF, at: 0 }),
            ("%00", KeyError::Forbidden { byte: 0, at: 0 }),
            ("a%20b", KeyError::Forbidden { byte: b' ', at: 1 }),
            ("%20k1", KeyError::Forbidden { byte: b' ', at: 0 }),
            ("k%C3%A9", KeyError::Forbidden { byte: 0xC3, at: 1 }),
        ] {
            assert_eq!(key_from_path_segment(segment), Err(error), "{segment}");
        }
    }
}

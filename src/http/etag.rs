//! A call's version as an entity tag: `7` is `"7"`; and which versions a client says it has.

use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, HeaderValue};

/// The `ETag` of a version.
pub fn etag(version: u64) -> HeaderValue {
    HeaderValue::try_from(format!("\"{version}\"")).expect("digits in quotes are a header value")
}

/// The versions a client already has, from `If-None-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// `*`: whatever there is.
    Any,
    /// These; none when the header is missing, or names no tag that could be ours.
    Versions(Vec<u64>),
}

impl Known {
    /// Reads every `If-None-Match` line. Comparison is weak, as RFC 9110 asks for this header: `W/"7"` is `"7"`.
    /// A tag that is no version of ours matches nothing, and so does the rest of a line from where it stops being a
    /// list of tags: the client then gets the whole answer, which is always correct.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let mut versions = Vec::new();
        for line in headers.get_all(IF_NONE_MATCH) {
            let line = line.as_bytes().trim_ascii();
            if line == b"*" {
                return Self::Any;
            }
            versions.extend(Tags { rest: line }.filter_map(version));
        }
        Self::Versions(versions)
    }

    /// Is it known to the client?
    pub fn has(&self, version: u64) -> bool {
        match self {
            Self::Any => true,
            Self::Versions(versions) => versions.contains(&version),
        }
    }
}

/// The text between the quotes of each tag of a list.
struct Tags<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tags<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while let [b',' | b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
        let tag = self.rest.strip_prefix(b"W/").unwrap_or(self.rest).strip_prefix(b"\"")?;
        let end = tag.iter().position(|&byte| byte == b'"')?;
        self.rest = &tag[end + 1..];
        Some(&tag[..end])
    }
}

/// A tag is compared as text, so `"07"` and `"+7"` are not version 7.
fn version(tag: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(tag).ok()?;
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(lines: &[&'static str]) -> Known {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(IF_NONE_MATCH, HeaderValue::from_static(line));
        }
        Known::from_headers(&headers)
    }

    #[test]
    fn a_version_is_known_by_its_own_tag() {
        for version in [0, 1, 7, u64::MAX] {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, etag(version));
            assert!(Known::from_headers(&headers).has(version));
            assert!(!Known::from_headers(&headers).has(version ^ 1));
        }
        assert_eq!(etag(7), "\"7\"");
    }

    #[test]
    fn lists_lines_weak_tags_and_strangers() {
        let cases: &[(&[&'static str], &[u64])] = &[
            (&[], &[]),
            (&[""], &[]),
            (&["\"1\", \"2\""], &[1, 2]),
            (&["\"1\",\"2\",, W/\"3\""], &[1, 2, 3]),
            (&["\"1\"", " W/\"2\" "], &[1, 2]),
            (&["\"a,b\", \"4\""], &[4]),
            (&["\"07\", \"+7\", \"-7\", \"\", \"7.0\", \" 7\""], &[]),
            (&["\"18446744073709551616\""], &[]),
            (&["\"5\", 6, \"7\""], &[5]),
            (&["\"5\", \"6"], &[5]),
            (&["w/\"5\""], &[]),
            (&["7"], &[]),
        ];
        for (lines, expected) in cases {
            assert_eq!(known(lines), Known::Versions(expected.to_vec()), "{lines:?}");
        }
        assert!(known(&["*"]).has(9));
        assert!(known(&["\"1\"", "*"]).has(9));
    }
}

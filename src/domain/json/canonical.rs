//! The canonical form: RFC 8785, with integer literals beyond ±(2^53 - 1) kept to the digit.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::error::Fault;
use super::{JsonError, MAX_DEPTH, Value, parse};

/// A JSON text in canonical form: no white space, names in UTF-16 order and distinct, one spelling for each
/// string and number.
///
/// Two values mean the same exactly if their canonical texts are equal. Cloning is cheap.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Canonical(Arc<str>);

impl Canonical {
    /// Takes a text that should be canonical, as one that comes back from storage.
    ///
    /// # Errors
    /// When the text is not JSON, or is not the canonical form of what it says; then the offset is where it
    /// first differs.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        let canonical = parse(text.as_bytes())?.canonical();
        if canonical.as_str() == text {
            return Ok(canonical);
        }
        let differs = canonical.as_str().bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        let fault = Fault::new("the text is JSON, but from here on it is not in canonical form", differs);
        Err(JsonError::locate(*fault, text.as_bytes()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value that the text says.
    pub fn to_value(&self) -> Value {
        parse(self.0.as_bytes()).expect("a canonical text is valid JSON")
    }
}

impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Value {
    /// The canonical form. Of members with one name, which only a value built by hand can have, the last one
    /// counts.
    ///
    /// # Panics
    /// When a value built by hand nests deeper than [`MAX_DEPTH`].
    pub fn canonical(&self) -> Canonical {
        let mut text = String::with_capacity(128);
        write_value(&mut text, self, 0);
        Canonical(text.into())
    }
}

fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            assert!(depth < MAX_DEPTH, "a value nests deeper than {MAX_DEPTH} levels");
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item, depth + 1);
            }
            out.push(']');
        }
        Value::Object(members) => {
            assert!(depth < MAX_DEPTH, "a value nests deeper than {MAX_DEPTH} levels");
            out.push('{');
            if members.is_sorted_by(|(a, _), (b, _)| utf16_order(a, b) == Ordering::Less) {
                write_members(out, members.iter(), depth);
            } else {
                write_members(out, in_order(members).into_iter(), depth);
            }
            out.push('}');
        }
    }
}

fn write_members<'a>(out: &mut String, members: impl Iterator<Item = &'a (String, Value)>, depth: usize) {
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(out, name);
        out.push(':');
        write_value(out, value, depth + 1);
    }
}

/// The members sorted by name; of several with one name, the last.
pub(super) fn in_order(members: &[(String, Value)]) -> Vec<&(String, Value)> {
    let mut ordered: Vec<_> = members.iter().rev().collect();
    ordered.sort_by(|(a, _), (b, _)| utf16_order(a, b));
    ordered.dedup_by(|(later, _), (kept, _)| later == kept);
    ordered
}

/// Appends `text` as a JSON string, escaping only what RFC 8785 escapes, the way it does.
pub(in crate::domain) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(plain) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) {
        out.push_str(&rest[..plain]);
        match rest.as_bytes()[plain] {
            b'"' => out.push_str(r#"\""#),
            b'\\' => out.push_str(r"\\"),
            0x08 => out.push_str(r"\b"),
            b'\t' => out.push_str(r"\t"),
            b'\n' => out.push_str(r"\n"),
            0x0c => out.push_str(r"\f"),
            b'\r' => out.push_str(r"\r"),
            control => {
                out.push_str(if control < 0x10 { r"\u000" } else { r"\u001" });
                out.push(char::from(b"0123456789abcdef"[usize::from(control % 16)]));
            }
        }
        rest = &rest[plain + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// Compares two names by their UTF-16 code units, as RFC 8785 sorts them, without leaving UTF-8.
///
/// UTF-8 sorts by code point, and so does UTF-16, but that surrogates (for characters from U+10000, lead
/// bytes from 0xF0) come before U+E000 to U+FFFF (lead bytes 0xEE and 0xEF). Moving those two lead bytes to
/// the top makes the orders one.
pub(super) fn utf16_order(a: &str, b: &str) -> Ordering {
    let weight = |byte: u8| if matches!(byte, 0xee | 0xef) { byte + 0x10 } else { byte };
    match a.bytes().zip(b.bytes()).find(|(a, b)| a != b) {
        Some((a, b)) => weight(a).cmp(&weight(b)),
        None => a.len().cmp(&b.len()),
    }
}

//! One value of a row, as a store holds it: for comparing tables column by column, whatever type a damaged one has.

use std::fmt;

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text; a damaged one need not be UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

/// How much of a value is shown: enough to tell two apart, little enough to read many.
const SHOWN_CHARS: usize = 48;

impl<'a> Cell<'a> {
    /// A text.
    pub const fn text(text: &'a str) -> Self {
        Self::Text(text.as_bytes())
    }

    /// A value that may be missing.
    pub fn optional<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Null, cell)
    }

    /// The number, if it is a whole one.
    pub const fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            Self::Null | Self::Real(_) | Self::Text(_) | Self::Blob(_) => None,
        }
    }

    /// The bytes, if it holds bytes.
    pub const fn as_blob(&self) -> Option<&'a [u8]> {
        match self {
            Self::Blob(bytes) => Some(bytes),
            Self::Null | Self::Integer(_) | Self::Real(_) | Self::Text(_) => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&'a str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Null | Self::Integer(_) | Self::Real(_) | Self::Blob(_) => None,
        }
    }
}

/// The columns in which a row is not what it should be, and how.
pub fn differences<'a>(
    columns: &'a [&'static str],
    found: &'a [Cell<'_>],
    expected: &'a [Cell<'_>],
) -> impl Iterator<Item = (&'static str, String)> + 'a {
    debug_assert!(columns.len() == found.len() && found.len() == expected.len());
    let cells = columns.iter().zip(found.iter().zip(expected));
    cells
        .filter(|(_, (found, expected))| found != expected)
        .map(|(column, (found, expected))| (*column, format!("is {found}, and the log makes {expected}")))
}

/// A value for people, cut short; what a terminal would obey is escaped.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Integer(value) => value.fmt(f),
            Self::Real(value) => write!(f, "{value:?}"),
            Self::Text(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                write!(
                    f,
                    "'{}",
                    text.chars().take(SHOWN_CHARS).flat_map(char::escape_debug).collect::<String>()
                )?;
                f.write_str(if text.chars().nth(SHOWN_CHARS).is_some() { "…'" } else { "'" })
            }
            Self::Blob(bytes) => {
                f.write_str("x'")?;
                bytes.iter().take(SHOWN_CHARS / 2).try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str(if bytes.len() > SHOWN_CHARS / 2 { "…'" } else { "'" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_short_and_harmless() {
        let long = "x".repeat(SHOWN_CHARS + 1);
        assert_eq!(Cell::text(&long).to_string(), format!("'{}…'", "x".repeat(SHOWN_CHARS)));
        assert_eq!(Cell::text("\u{1b}[31m").to_string(), r"'\u{1b}[31m'");
        assert_eq!(Cell::Text(b"\xff").to_string(), "'\u{fffd}'");
        assert_eq!(Cell::Blob(&[0xab; 25]).to_string(), format!("x'{}…'", "ab".repeat(24)));
        assert_eq!(Cell::Real(1.0).to_string(), "1.0");
    }

    #[test]
    fn a_value_of_another_type_differs() {
        let columns = ["a", "b", "c"];
        let found = [Cell::Integer(1), Cell::text("1"), Cell::Null];
        let expected = [Cell::Real(1.0), Cell::text("1"), Cell::Null];
        let all: Vec<_> = differences(&columns, &found, &expected).collect();
        assert_eq!(all, [("a", "is 1, and the log makes 1.0".to_string())]);
    }
}

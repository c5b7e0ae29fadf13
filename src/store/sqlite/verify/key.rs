//! A call id or a key as it is stored, which in a damaged file need not be a text at all.

use std::fmt;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

/// Its bytes, in the order in which SQLite sorts them: texts before bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key<B = Vec<u8>> {
    is_blob: bool,
    pub(super) bytes: B,
}

impl<'r> Key<&'r [u8]> {
    /// The key in a column; nothing for what sorts before every text.
    pub(super) fn of(value: ValueRef<'r>) -> Option<Self> {
        match value {
            ValueRef::Text(bytes) => Some(Self { is_blob: false, bytes }),
            ValueRef::Blob(bytes) => Some(Self { is_blob: true, bytes }),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
        }
    }

    pub(super) fn own(self) -> Key {
        Key { is_blob: self.is_blob, bytes: self.bytes.to_vec() }
    }
}

impl Key {
    /// Before every other.
    pub(super) const FIRST: Self = Self { is_blob: false, bytes: Vec::new() };

    pub(super) fn is(&self, other: &Key<&[u8]>) -> bool {
        (self.is_blob, self.bytes.as_slice()) == (other.is_blob, other.bytes)
    }
}

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.is_blob {
            true => ValueRef::Blob(&self.bytes),
            false => ValueRef::Text(&self.bytes),
        }))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", String::from_utf8_lossy(&self.bytes).escape_debug())
    }
}

//! Strict JSON and its canonical form: one text for one meaning, whatever a client's serialiser does.
//!
//! Everything here is our own on purpose. A fingerprint must never depend on another crate's feature flags,
//! on a lenient reader that takes the last of two equal names, or on a float parser that is one unit off.

mod build;
mod canonical;
mod diff;
mod error;
mod number;
mod parse;
mod path;
mod string;

pub use canonical::Canonical;
pub(in crate::domain) use canonical::write_string;
pub use diff::differing_paths;
pub use error::JsonError;
pub use number::Number;
pub use parse::parse;
pub use path::{push_item, push_member};

/// How deep lists and objects may nest; the outermost value's own brackets count 1. Tool arguments stay below
/// ten levels; 64 leaves room, and keeps the recursive reader, writer and drop within a few tens of kilobytes
/// of stack.
pub const MAX_DEPTH: usize = 64;

/// A JSON value. [`parse`] makes it with the names of each object distinct and in canonical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`, which is not the same as an absent member.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, kept as its canonical text.
    Number(Number),
    /// A string, never normalised.
    String(String),
    /// A list; its order means something.
    Array(Vec<Value>),
    /// An object. A value built by hand may hold its members in any order: the canonical form sorts them.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// What this value is, as a message would call it: `a string`, `an object`.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The member called `name`, if this is an object that has one. A member that is `null` is there.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_object()?.iter().find_map(|(member, value)| (member == name).then_some(value))
    }

    /// The members, if this is an object.
    pub fn as_object(&self) -> Option<&[(String, Value)]> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The items, if this is a list.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(truth) = self { Some(*truth) } else { None }
    }
}

//! How a place inside a value is written for people: `items[2].sku`, `["a.b"].c`.

use std::borrow::Cow;
use std::fmt::Write;

use super::canonical::write_string;

/// How many characters of a member's name a path shows: enough to recognise it, so that a message about a
/// huge name, or many messages about members below it, stays small.
const MAX_NAME_SHOWN: usize = 64;

/// One step from a value to a value inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Item(usize),
}

/// A member's name as a JSON string, cut short if it is long.
pub(super) fn quoted(name: &str) -> String {
    let mut text = String::new();
    write_string(&mut text, &shortened(name));
    text
}

/// Appends the step to the member called `name`, in quotes and brackets unless the name is a plain
/// identifier.
pub fn push_member(path: &mut String, name: &str) {
    if !is_identifier(name) {
        write!(path, "[{}]", quoted(name)).expect("writing to a String cannot fail");
        return;
    }
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&shortened(name));
}

/// Appends the step to the item at `index`, counted from 0.
pub fn push_item(path: &mut String, index: usize) {
    write!(path, "[{index}]").expect("writing to a String cannot fail");
}

fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_NAME_SHOWN) {
        None => Cow::Borrowed(name),
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

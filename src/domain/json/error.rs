//! What is wrong with a JSON text, and where.

use thiserror::Error;

use super::path::{Step, push_item, push_member};

/// Why a text was refused: the reason, the byte offset, line and column, and the member it lies in.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("at line {line}, column {column} (byte {offset}){}: {reason}", within(.path))]
pub struct JsonError {
    reason: String,
    offset: usize,
    line: usize,
    column: usize,
    path: String,
}

impl JsonError {
    /// Where the fault is, in bytes from the start of the text.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Turns a fault into what a person can find in `text`, the text it was found in.
    pub(super) fn locate(fault: Fault, text: &[u8]) -> Self {
        let before = &text[..fault.offset];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let mut path = String::new();
        for step in fault.outward.iter().rev() {
            match step {
                Step::Member(name) => push_member(&mut path, name),
                Step::Item(index) => push_item(&mut path, *index),
            }
        }
        Self {
            reason: fault.reason,
            offset: fault.offset,
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            column: 1 + String::from_utf8_lossy(&before[line_start..]).chars().count(),
            path,
        }
    }
}

fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(", in `{path}`") }
}

/// A fault on its way out of the reader, which adds at each level where it is; boxed, so that success stays
/// cheap to return.
#[derive(Debug)]
pub(super) struct Fault {
    reason: String,
    offset: usize,
    outward: Vec<Step>,
}

impl Fault {
    pub(super) fn new(reason: impl Into<String>, offset: usize) -> Box<Self> {
        Box::new(Self { reason: reason.into(), offset, outward: Vec::new() })
    }

    /// The same fault, seen from one level further out.
    pub(super) fn inside(mut self: Box<Self>, step: Step) -> Box<Self> {
        self.outward.push(step);
        self
    }
}

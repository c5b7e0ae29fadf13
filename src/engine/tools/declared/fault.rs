//! What is wrong with a file of tools, and on which line.

use std::cell::RefCell;
use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: usize,
    /// Where in the file's own terms, as in `pay.retry.backoff`; empty if it is no TOML.
    pub field: String,
    /// What was expected, and what was found.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => write!(f, "{}: {}", self.line, self.problem),
            field => write!(f, "{}: {field}: {}", self.line, self.problem),
        }
    }
}

/// Collects what is wrong while a file is read, so that all of it can be mended at once.
pub(super) struct Faults<'t> {
    text: &'t str,
    found: RefCell<Vec<Fault>>,
}

impl<'t> Faults<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, found: RefCell::default() }
    }

    /// Notes a fault at this byte of the text.
    pub(super) fn note(&self, at: usize, field: &str, problem: impl Into<String>) {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        self.found.borrow_mut().push(Fault { line, field: field.into(), problem: problem.into() });
    }

    /// All of them, from the top of the file to its end.
    pub(super) fn into_sorted(self) -> Vec<Fault> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|fault| fault.line);
        found
    }
}

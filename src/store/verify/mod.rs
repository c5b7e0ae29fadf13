//! Is what is stored still what was written? Every law, checked on the tables of a store, column by column.
//!
//! The logic is here and knows no database. A store hands in the rows of one call after the other: [`CallCheck`] takes the
//! call's events, then its row, then its effects, and says what is wrong. Nothing is kept but the call at hand and what is
//! counted, so a log of any length needs no more memory than a short one. `sqlite::verify` feeds it.

mod call;
mod findings;

use std::collections::BTreeMap;

pub use call::CallCheck;
pub use findings::Findings;

use super::cell::Cell;
use super::counters::{Counter, Tally};
use crate::domain::id::Position;
use crate::domain::law::{Law, Violation};
use crate::domain::time::Timestamp;

/// The columns of `audit`, in the order in which [`CallCheck::event`] takes them.
pub const EVENT_COLUMNS: [&str; 8] = ["id", "ts", "call_id", "event", "detail", "version", "payload", "hash"];

/// What a call is judged by, beside its own rows.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The last event that counts for the counters, which were read when it was the last one.
    pub upto: Position,
    /// The instant, where a server is at work; see [`Facts::now`](crate::domain::law::Facts::now).
    pub now: Option<Timestamp>,
}

/// What a verification looked at, and what it found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The last event that was looked at for certain; a running server may have appended more.
    pub position: Position,
    /// How many events there are up to it.
    pub events: u64,
    /// How many calls they belong to.
    pub calls: u64,
    /// How many effects they record.
    pub effects: u64,
    /// What is broken.
    pub findings: Findings,
    /// What could not be checked, and why.
    pub unchecked: Vec<String>,
}

impl Report {
    /// Before anything was looked at.
    pub fn new() -> Self {
        Self {
            position: Position::START,
            events: 0,
            calls: 0,
            effects: 0,
            findings: Findings::default(),
            unchecked: Vec::new(),
        }
    }
}

impl Default for Report {
    fn default() -> Self {
        Self::new()
    }
}

/// Compares the counters with what the fold counts; one that is nothing need not be stored.
pub fn check_counters(stored: &BTreeMap<String, Cell<'_>>, counted: &Tally) -> Findings {
    let mut findings = Findings::default();
    let mut say = |name: &str, problem: String| {
        findings.push(Violation::new(Law::LogIsTruth, format!("counters.{name}"), problem));
    };
    for (counter, counted) in counted.iter() {
        match stored.get(&counter.to_string()) {
            Some(Cell::Integer(value)) if *value == counted => {}
            Some(value) => say(&counter.to_string(), format!("is {value}, and the log makes {counted}")),
            None => say(&counter.to_string(), format!("is missing, and the log makes {counted}")),
        }
    }
    for (name, value) in stored {
        match Counter::parse(name) {
            None => say(name, "is no counter".into()),
            Some(counter) if counted.get(counter) == 0 && *value != Cell::Integer(0) => {
                say(name, format!("is {value}, and the log makes 0"));
            }
            Some(_) => {}
        }
    }
    findings
}

//! L7: the versions of a call have no gap, each event is legal in the state before it, and what is stored beside the log
//! equals its fold.
//!
//! Enforced by the store (an append folds its events before it writes them, and writes log and tables in one transaction),
//! by `UNIQUE (call_id, version)`, and by the hash that chains each event to the one before it. Source: `docs/laws.md`.
//!
//! Hashes, columns and counters belong to a store: `callonce verify` checks those beside this.

use super::{Facts, Law, Violation};
use crate::domain::call::Call;
use crate::domain::id::{Position, Version};

/// Versions count from 1 one by one, positions rise with them, every event is legal, and the stored call is their fold.
pub fn check(facts: &Facts<'_>) -> Vec<Violation> {
    let history = facts.history;
    let mut broken = Vec::new();
    let (mut version, mut position) = (Version::NONE, Position::START);
    for happened in history.events() {
        let mut say = |member, problem| {
            broken.push(history.broken_at(Law::LogIsTruth, happened, member, problem));
        };
        if happened.version != version.next() {
            say("version", format!("follows version {version}"));
        }
        if happened.position <= position {
            say("position", format!("follows position {position} in its call"));
        }
        (version, position) = (happened.version, happened.position);
    }
    if let Some((happened, illegal)) = history.illegal() {
        broken.push(history.broken_at(Law::LogIsTruth, happened, "event", illegal.to_string()));
    } else if let Some(stored) = facts.stored {
        let mut say = |member, problem| {
            let violation = Violation::new(Law::LogIsTruth, member, problem);
            broken.push(violation.of(history.call_id()).at(stored.version));
        };
        if stored.version != version {
            say("version", format!("is {}, and the log ends at {version}", stored.version));
        }
        if let Some(member) = differing(&stored.call, history.last()) {
            say(member, format!("is {:?}, and the log makes {:?}", stored.call, history.last()));
        }
    }
    broken
}

/// The first member in which two calls differ.
fn differing(one: &Call, other: &Call) -> Option<&'static str> {
    match (one, other) {
        (one, other) if one == other => None,
        (one, other) if one.status() != other.status() => Some("status"),
        (one, other) if one.request() != other.request() => Some("request"),
        (one, other) if one.attempts() != other.attempts() => Some("attempt"),
        (Call::Succeeded { .. }, _) => Some("result"),
        (Call::Failed { .. }, _) => Some("error"),
        (Call::Running { .. }, Call::Running { .. }) => Some("lease"),
        (Call::Running { .. } | Call::Held { .. }, _) => Some("held"),
        (Call::Absent | Call::Pending { .. }, _) => Some("due"),
    }
}

//! What does an event change in the numbers of /stats? Pure; a store adds the moves up in the append's own transaction.

use std::collections::BTreeMap;
use std::fmt;

use super::stats::Stats;
use crate::domain::call::{Call, Status};

/// One of the numbers that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Keys taken.
    Calls,
    /// Effects recorded.
    Effects,
    /// Running calls that are held.
    Held,
    /// Calls with a status.
    Status(Status),
    /// Calls with so many attempts.
    Attempts(u32),
}

impl Counter {
    /// The counter with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.split_once(' ') {
            None => match name {
                "calls" => Self::Calls,
                "effects" => Self::Effects,
                "held" => Self::Held,
                _ => return None,
            },
            Some(("status", status)) => Self::Status(Status::parse(status)?),
            Some(("attempts", attempts)) => Self::Attempts(attempts.parse().ok()?),
            Some(_) => return None,
        })
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls => f.write_str("calls"),
            Self::Effects => f.write_str("effects"),
            Self::Held => f.write_str("held"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Attempts(attempts) => write!(f, "attempts {attempts}"),
        }
    }
}

/// How a call that was `before` and is `after` moves the counters: each with what is to be added.
pub fn moves(before: &Call, after: &Call) -> Vec<(Counter, i64)> {
    let mut moves = Vec::with_capacity(8);
    let mut add = |counter, by| match moves.iter().position(|(known, _)| *known == counter) {
        None => moves.push((counter, by)),
        // It left the same number that it came to.
        Some(at) => drop(moves.swap_remove(at)),
    };
    counted_in(before, |counter| add(counter, -1));
    counted_in(after, |counter| add(counter, 1));
    moves
}

fn counted_in(call: &Call, mut count: impl FnMut(Counter)) {
    let Some(status) = call.status() else { return };
    count(Counter::Calls);
    count(Counter::Status(status));
    count(Counter::Attempts(call.attempts()));
    match call {
        Call::Held { .. } => count(Counter::Held),
        Call::Succeeded { effect: Some(_), .. } => count(Counter::Effects),
        Call::Absent
        | Call::Pending { .. }
        | Call::Running { .. }
        | Call::Succeeded { effect: None, .. }
        | Call::Failed { .. } => {}
    }
}

/// What some calls add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<Counter, i64>);

impl Tally {
    /// Counts one more call.
    pub fn count(&mut self, call: &Call) {
        counted_in(call, |counter| *self.0.entry(counter).or_default() += 1);
    }

    /// Adds what others add up to.
    pub fn add(&mut self, other: &Self) {
        other.iter().for_each(|(counter, by)| *self.0.entry(counter).or_default() += by);
    }

    /// The value of one counter.
    pub fn get(&self, counter: Counter) -> i64 {
        self.0.get(&counter).copied().unwrap_or(0)
    }

    /// All counters that are not nothing.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, i64)> {
        self.0.iter().map(|(counter, value)| (*counter, *value))
    }
}

impl Stats {
    /// Takes in the value of one counter.
    pub fn take_in(&mut self, counter: Counter, value: u64) {
        match counter {
            Counter::Calls => self.calls = value,
            Counter::Effects => self.effects = value,
            Counter::Held => self.held = value,
            // A number that fell to nothing is left out, as if it had never been there.
            Counter::Status(_) | Counter::Attempts(_) if value == 0 => {}
            Counter::Status(status) => drop(self.by_status.insert(status, value)),
            Counter::Attempts(attempts) => drop(self.attempts.insert(attempts, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let all =
            [Counter::Calls, Counter::Effects, Counter::Held, Counter::Attempts(0), Counter::Attempts(17)];
        for counter in all.into_iter().chain(Status::ALL.map(Counter::Status)) {
            assert_eq!(Counter::parse(&counter.to_string()), Some(counter));
        }
        for name in ["", "call", "status gone", "attempts x", "attempts -1", "held held"] {
            assert_eq!(Counter::parse(name), None, "{name}");
        }
    }
}

//! The checker: do a history and the downstream's book agree with what was promised? A pure function that knows no rule of the server.

mod bad;
mod effects;
mod ends;
mod good;
mod key;
mod ops;
mod steps;
mod tale;
mod versions;

use std::collections::BTreeMap;

use crate::history::Line;
use crate::ledger::Entry;

use self::ops::Op;

/// What was found broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: Rule,
    /// Whose call it is about, or nothing in particular.
    pub key: String,
    pub told: String,
}

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// What a client was told to be there is there ever after.
    Lost,
    /// What a client was told to be so was so: no older version comes later, no version is two things, the end is the end.
    TakenBack,
    /// A call has at most one effect.
    Doubled,
    /// A call that succeeded has its effect, the very one that its result names.
    Missing,
    /// A key leads to one call, and a call belongs to one key.
    TwoCalls,
    /// A request is answered with its own call; only another one under the same key is refused.
    OtherRequest,
    /// A call goes from one state to the next only by steps that exist.
    Steps,
    /// Nothing happens that nobody asked for.
    Unasked,
    /// Every accepted call ends.
    Unended,
    /// The server's counters count what is there.
    Miscounted,
    /// Answers are of a kind that was promised.
    Answer,
    /// The history itself is whole: a run that did not look has shown nothing.
    History,
}

impl Rule {
    /// All that have no row of their own in the report.
    pub const OTHERS: [Self; 9] = [
        Self::Missing,
        Self::TwoCalls,
        Self::OtherRequest,
        Self::Steps,
        Self::Unasked,
        Self::Unended,
        Self::Miscounted,
        Self::Answer,
        Self::History,
    ];
}

/// Findings of one key, or of none.
struct Findings<'a> {
    key: &'a str,
    found: Vec<Finding>,
}

impl<'a> Findings<'a> {
    fn of(key: &'a str) -> Self {
        Self { key, found: Vec::new() }
    }

    fn add(&mut self, rule: Rule, told: String) {
        self.found.push(Finding { rule, key: self.key.to_owned(), told });
    }
}

/// Everything that is broken.
pub fn check(history: &[Line], book: &[Entry]) -> Vec<Finding> {
    let (ops, settled, mut found) = ops::read(history);
    let mut by_key: BTreeMap<&str, Vec<&Op<'_>>> = BTreeMap::new();
    for op in &ops {
        if let Some(key) = op.ask.key() {
            by_key.entry(key).or_default().push(op);
        }
    }
    for (key, ops) in &by_key {
        found.extend(key::check(key, ops));
        found.extend(versions::check(key, ops));
        found.extend(ends::check_key(key, ops, settled));
    }
    found.extend(key::no_call_has_two_keys(&by_key));
    let last = ends::last_looks(&by_key, settled);
    found.extend(effects::check(&by_key, &last, book));
    found.extend(ends::check_stats(&ops, &last));
    found
}

/// How many keys were sent.
pub fn keys(history: &[Line]) -> u64 {
    let keys = history.iter().filter_map(|line| match line {
        Line::Sent { ask: crate::history::Ask::Post { key, .. }, .. } => Some(key),
        Line::Sent { .. } | Line::Answered { .. } | Line::Unknown { .. } | Line::Settled => None,
    });
    keys.collect::<std::collections::BTreeSet<_>>().len() as u64
}

/// Findings for people: how many, and the first of each rule.
pub fn tell(findings: &[Finding]) -> String {
    let mut text = format!("{} findings", findings.len());
    let mut rules: Vec<_> = findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    for rule in rules {
        for finding in findings.iter().filter(|finding| finding.rule == rule).take(3) {
            text += &format!("\n{:?}: {}: {}", finding.rule, finding.key, finding.told);
        }
    }
    text
}

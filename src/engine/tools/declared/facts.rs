//! What is in force for a tool, for people to read: defaults spelled out, secrets only by where they come from.

use std::time::Duration;

use crate::engine::tools::{Backoff, Interrupted, Terms};

/// One thing that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is about: a field of the file, mostly.
    pub name: String,
    /// What holds.
    pub value: String,
}

impl Fact {
    /// The same of the section `probe`.
    pub(super) fn of_probe(self) -> Self {
        Self { name: format!("probe.{}", self.name), ..self }
    }
}

pub(super) fn fact(name: impl Into<String>, value: impl ToString) -> Fact {
    Fact { name: name.into(), value: value.to_string() }
}

/// The same of the terms of any tool.
pub fn of_terms(terms: &Terms) -> Vec<Fact> {
    let time = |time: Duration| humantime::format_duration(time).to_string();
    let waits = |backoff: &Backoff| format!("{}..{}", time(backoff.base), time(backoff.cap));
    let mut facts = vec![
        fact("side_effect", terms.side_effect),
        fact("interrupted", word(terms.interrupted)),
        fact("timeout", terms.time_limit.map_or("that of the server".into(), time)),
        fact(
            "concurrency",
            match (terms.concurrency, terms.local) {
                (Some(own), _) => own.to_string(),
                (None, true) => "not limited: it waits for nothing".into(),
                (None, false) => "shares the server's workers".into(),
            },
        ),
        fact(
            "retry.max_attempts",
            terms.max_attempts.map_or("that of the server".into(), |most| most.to_string()),
        ),
        fact(
            "retry",
            match &terms.retries {
                Some(retries) => format!("waits {}, for {}", waits(&retries.backoff), time(retries.budget)),
                None => "only when a request with the call's key asks for it".into(),
            },
        ),
    ];
    if let Some(probes) = &terms.probes {
        facts.push(fact("probe.timeout", time(probes.time_limit)));
        facts.push(fact("probe.settle", time(probes.settle)));
        facts.push(fact("probe.backoff", waits(&probes.backoff)));
    }
    facts
}

/// A policy by its word in the file.
pub const fn word(interrupted: Interrupted) -> &'static str {
    match interrupted {
        Interrupted::Replay => "replay",
        Interrupted::Probe => "probe",
        Interrupted::Hold => "hold",
    }
}

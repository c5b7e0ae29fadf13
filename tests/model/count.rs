//! How much was tried? Steps by what was asked and what came of it, so that an idle generator fails.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::reference::{Ask, Outcome, Reference};
use crate::run::say;
use crate::transition::Fate;

/// Every kind of wish.
const ASKS: [&str; 9] =
    ["submit", "claim", "succeed", "fail", "recover", "happened", "not_happened", "abandon", "put_off"];
/// Every refusal.
const REFUSALS: [&str; 10] = [
    "not_found",
    "idempotency_conflict",
    "stale",
    "final",
    "held",
    "leased",
    "not_pending",
    "not_due",
    "not_held",
    "effect_mismatch",
];
/// Every event.
const EVENTS: [&str; 6] = ["created", "claimed", "succeeded", "failed", "retry_reset", "recover"];
/// Every end of a process but its going on.
const FATES: [&str; 3] = ["closed", "dropped", "killed"];

#[derive(Debug, Default, Clone)]
pub struct Count {
    pub transitions: u64,
    pub sequences: u64,
    pub conflicts: u64,
    accepted: u64,
    nothing: u64,
    refused: u64,
    named: BTreeMap<&'static str, u64>,
}

thread_local! {
    /// What the sequences that passed on this thread add up to; one test has one thread.
    static TOTAL: RefCell<Count> = RefCell::default();
}

/// What was counted on this thread so far; begins anew.
pub fn take_total() -> Count {
    TOTAL.take()
}

impl Count {
    /// Takes in the last step.
    pub fn step(&mut self, reference: &Reference) {
        let mut add = |name| *self.named.entry(name).or_default() += 1;
        for (_, ask, _, outcome) in &reference.steps {
            self.transitions += 1;
            add(name(ask));
            match outcome {
                Outcome::Events(events) => {
                    self.accepted += 1;
                    events.iter().for_each(|event| add(format_event(event)));
                }
                Outcome::Nothing => self.nothing += 1,
                Outcome::Refused(refusal, _) => {
                    self.refused += 1;
                    add(refusal);
                }
            }
        }
    }

    /// Takes in how a process ended, where there is one that can.
    pub fn ends(&mut self, fate: Fate) {
        let name = match fate {
            Fate::Lives => return,
            Fate::Closes => "closed",
            Fate::Drops(_) => "dropped",
            Fate::Killed => "killed",
        };
        *self.named.entry(name).or_default() += 1;
    }

    /// Adds a sequence that is over.
    pub fn conclude(self) {
        TOTAL.with_borrow_mut(|total| {
            total.transitions += self.transitions;
            total.sequences += 1;
            total.conflicts += self.conflicts;
            total.accepted += self.accepted;
            total.nothing += self.nothing;
            total.refused += self.refused;
            for (name, count) in self.named {
                *total.named.entry(name).or_default() += count;
            }
        });
    }

    /// Says what was tried, whether the test passes or not.
    pub fn say(&self, place: &str) {
        let of = |names: &[&'static str]| {
            let each: Vec<_> = names.iter().map(|name| format!("{name} {}", self.named(name))).collect();
            each.join(", ")
        };
        let line = format!(
            "model: {} transitions {place}, {} sequences, {} accepted, {} with nothing to do, {} refused, {} lost a version; \
             by command: {}; by refusal: {}; by event: {}; processes: {}\n",
            self.transitions,
            self.sequences,
            self.accepted,
            self.nothing,
            self.refused,
            self.conflicts,
            of(&ASKS),
            of(&REFUSALS),
            of(&EVENTS.map(format_event)),
            of(&FATES),
        );
        say(&line);
    }

    /// Every kind happened at least once in so many transitions, ends of processes where there are `processes`.
    pub fn expect_each_once_in(&self, transitions: u64, processes: bool) {
        let floor = self.transitions / transitions;
        let events = EVENTS.map(format_event);
        let fates = if processes { &FATES[..] } else { &[] };
        for name in ASKS.iter().chain(&REFUSALS).chain(&events).chain(fates) {
            assert!(
                self.named(name) >= floor,
                "{name}: {} times, at least {floor} were due",
                self.named(name)
            );
        }
        assert!(self.conflicts >= floor, "{} versions lost, at least {floor} were due", self.conflicts);
    }

    fn named(&self, name: &str) -> u64 {
        self.named.get(name).copied().unwrap_or(0)
    }
}

/// Two events share their names with commands.
fn format_event(event: &str) -> &'static str {
    match event {
        "created" => "created",
        "claimed" => "claimed",
        "succeeded" => "succeeded",
        "failed" => "failed",
        "retry_reset" => "retry_reset",
        "recover" => "given_up",
        other => panic!("{other} is no event"),
    }
}

fn name(ask: &Ask) -> &'static str {
    match ask {
        Ask::Submit { .. } => "submit",
        Ask::Claim { .. } => "claim",
        Ask::Succeed { .. } => "succeed",
        Ask::Fail { .. } => "fail",
        Ask::Recover { .. } => "recover",
        Ask::Happened { .. } => "happened",
        Ask::NotHappened { .. } => "not_happened",
        Ask::Abandon => "abandon",
        Ask::PutOff { .. } => "put_off",
    }
}

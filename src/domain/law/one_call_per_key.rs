//! L1: a key leads to one call, forever.
//!
//! Enforced by the decider (`created` only for an absent call), by `calls.idem_key UNIQUE`, and by an append that finds
//! its key taken. Source: `docs/laws.md`.

use std::collections::HashMap;

use super::{Facts, Law, Violation};
use crate::domain::event::Event;
use crate::domain::id::{CallId, IdemKey};

/// A call is created once, by its first event, under its own id; its row has the key of that event.
pub fn check(facts: &Facts<'_>) -> Vec<Violation> {
    let history = facts.history;
    let mut broken = Vec::new();
    let mut created = None;
    for (place, happened) in history.events().iter().enumerate() {
        let mut say = |member, problem: &str| {
            broken.push(history.broken_at(Law::OneCallPerKey, happened, member, problem.into()));
        };
        match &happened.event {
            Event::Created { request } => {
                if place > 0 {
                    say("event", "the call is created a second time");
                }
                if request.call_id != history.call_id() {
                    say("call_id", &format!("the event creates the call {}", request.call_id));
                }
                created.get_or_insert(request);
            }
            Event::Claimed { .. }
            | Event::Succeeded { .. }
            | Event::Failed { .. }
            | Event::RetryReset { .. }
            | Event::Recover { .. } => {
                if place == 0 {
                    say("event", "the call's first event does not create it");
                }
            }
        }
    }
    let stored = facts.stored.and_then(|stored| stored.call.request());
    if let (Some(created), Some(stored)) = (created, stored)
        && created.key != stored.key
    {
        let problem = format!("the call was created under the key {} and has {}", created.key, stored.key);
        broken.push(Violation::new(Law::OneCallPerKey, "idem_key", problem).of(history.call_id()));
    }
    broken
}

/// No key leads to two calls.
pub fn check_keys<'a>(calls: impl IntoIterator<Item = (&'a IdemKey, CallId)>) -> Vec<Violation> {
    let mut holders = HashMap::new();
    let mut broken = Vec::new();
    for (key, call_id) in calls {
        let holder = *holders.entry(key).or_insert(call_id);
        if holder != call_id {
            let problem = format!("the key {key} also leads to the call {holder}");
            broken.push(Violation::new(Law::OneCallPerKey, "idem_key", problem).of(call_id));
        }
    }
    broken
}

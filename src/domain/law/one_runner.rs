//! L3: at most one attempt holds the lease; attempt numbers strictly rise, never reset; only the current attempt finishes
//! the call.
//!
//! Enforced by the decider (the fence of the open attempt), by an append that wins its version or changes nothing, and by
//! `UNIQUE (call_id, version)`. Source: `docs/laws.md`.
//!
//! A worker that was stalled may still be running its tool when the next attempt begins. Nothing that is stored can show
//! that; what it shows is that such a worker changed nothing.

use super::{Facts, Law, Violation};
use crate::domain::event::Event;

/// Follows the lease through the events, without the fold.
pub fn check(facts: &Facts<'_>) -> Vec<Violation> {
    let history = facts.history;
    let mut broken = Vec::new();
    // The last attempt that was claimed, and whether it still has the lease.
    let (mut current, mut holds) = (0, false);
    for happened in history.events() {
        let mut say = |problem: String| {
            broken.push(history.broken_at(Law::OneRunner, happened, "attempt", problem));
        };
        match &happened.event {
            Event::Created { .. } => {}
            Event::Claimed { attempt, .. } => {
                if holds {
                    say(format!("attempt {current} still holds the lease"));
                }
                if attempt.number <= current {
                    say(format!("attempt {} comes after attempt {current}", attempt.number));
                }
                (current, holds) = (attempt.number, true);
            }
            Event::Succeeded { attempt, .. } | Event::Failed { attempt, .. } => {
                if *attempt != current {
                    say(format!("attempt {attempt} finishes the call, and the current one is {current}"));
                }
                holds = false;
            }
            Event::Recover { attempt, .. } => {
                if !holds || *attempt != current {
                    say(format!("attempt {attempt} is given up, and does not hold the lease"));
                }
                holds = false;
            }
            Event::RetryReset { .. } => {
                if holds {
                    say(format!("the call is reset, and attempt {current} still holds the lease"));
                }
                holds = false;
            }
        }
    }
    broken
}

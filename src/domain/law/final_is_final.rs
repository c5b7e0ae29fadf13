//! L4: a final call's status, result and error never change, once anybody could have seen them.
//!
//! Enforced by the decider (no command leads from a final state), by the fold (no event is legal there), and by an append
//! that compares the version. Source: `docs/laws.md`.

use super::{Answer, Facts, Law, Violation};
use crate::domain::event::Event;

/// Nothing follows a final event, and whoever was given a final answer would be given the same one today.
pub fn check(facts: &Facts<'_>) -> Vec<Violation> {
    let history = facts.history;
    let mut broken = Vec::new();
    let ended = history.events().iter().position(|happened| ends(&happened.event));
    if let Some(ended) = ended
        && let Some(later) = history.events().get(ended + 1)
    {
        let problem = format!("`{}` follows a final event", later.event.name());
        broken.push(history.broken_at(Law::FinalIsFinal, later, "event", problem));
    }
    let today = Answer::of(history.last());
    for observed in facts.observed.iter().filter(|observed| observed.answer.is_final) {
        if today.as_ref() != Some(&observed.answer) {
            let problem = format!("was {:?} to a client, and is {today:?}", observed.answer);
            let violation = Violation::new(Law::FinalIsFinal, "answer", problem);
            broken.push(violation.of(history.call_id()).at(observed.version));
        }
    }
    broken
}

fn ends(event: &Event) -> bool {
    match event {
        Event::Succeeded { .. } => true,
        Event::Failed { error, .. } => !error.retryable,
        Event::Created { .. } | Event::Claimed { .. } | Event::RetryReset { .. } | Event::Recover { .. } => {
            false
        }
    }
}

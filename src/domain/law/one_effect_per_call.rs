//! L2: a call has at most one effect, and exactly one if it succeeded with a tool that has a side effect.
//!
//! Enforced by the decider (a success records an effect exactly if its attempt owes one), by `effects.call_id UNIQUE`, and
//! by an effect id that is the call's own. Source: `docs/laws.md`.
//!
//! This is about effects as they are recorded. That a downstream saw one, too, only a test that counts there can show.

use super::{Facts, Happened, Law, StoredEffect, Violation};
use crate::domain::call::{Call, Effect};
use crate::domain::event::Event;

/// At most one success records an effect, as its attempt owed it; as many effects are stored, each with the call's own id.
pub fn check(facts: &Facts<'_>) -> Vec<Violation> {
    let history = facts.history;
    let mut broken = Vec::new();
    let mut recorded = 0;
    for happened in history.events() {
        let Event::Succeeded { attempt, effect, .. } = &happened.event else { continue };
        let mut say = |problem: String| {
            broken.push(history.broken_at(Law::OneEffectPerCall, happened, "effect", problem));
        };
        recorded += usize::from(effect.is_some());
        if effect.is_some() && recorded > 1 {
            say("a second effect is recorded".into());
        }
        match (owes_effect(history.events(), *attempt), effect) {
            (Some(true), None) => say(format!("attempt {attempt} owes an effect, and none is recorded")),
            (Some(false), Some(_)) => {
                say(format!("attempt {attempt} has no side effect, and one is recorded"))
            }
            (Some(true), Some(_)) | (Some(false) | None, None) | (None, Some(_)) => {}
        }
    }
    if let (Some(stored), None) = (facts.effects, history.illegal()) {
        let recorded = match history.last() {
            Call::Succeeded { effect, .. } => *effect,
            Call::Absent
            | Call::Pending { .. }
            | Call::Running { .. }
            | Call::Held { .. }
            | Call::Failed { .. } => None,
        };
        let problem = compare(recorded, stored, &history.call_id().effect_id().to_string());
        let broken_by =
            |(member, problem)| Violation::new(Law::OneEffectPerCall, member, problem).of(history.call_id());
        broken.extend(problem.map(broken_by));
    }
    broken
}

/// Whether the attempt was claimed for a tool with a side effect.
fn owes_effect(events: &[Happened], number: u32) -> Option<bool> {
    events.iter().find_map(|happened| match &happened.event {
        Event::Claimed { attempt, .. } if attempt.number == number => Some(attempt.side_effect),
        Event::Created { .. }
        | Event::Claimed { .. }
        | Event::Succeeded { .. }
        | Event::Failed { .. }
        | Event::RetryReset { .. }
        | Event::Recover { .. } => None,
    })
}

fn compare(
    recorded: Option<Effect>,
    stored: &[StoredEffect],
    effect_id: &str,
) -> Option<(&'static str, String)> {
    match (recorded, stored) {
        (None, []) => None,
        (None, _) => Some(("effects", "an effect is stored that no event records".into())),
        (Some(_), []) => Some(("effects", "the effect that was recorded is not stored".into())),
        (Some(_), [one]) if one.effect_id != effect_id => {
            Some(("effects.effect_id", format!("is {}, not {effect_id}", one.effect_id)))
        }
        (Some(effect), [one]) if one.amount != effect.amount => {
            let shown = |amount: Option<i64>| amount.map_or_else(|| "none".into(), |moved| moved.to_string());
            Some(("effects.amount", format!("is {}, not {}", shown(one.amount), shown(effect.amount))))
        }
        (Some(_), [_]) => None,
        (Some(_), more) => Some(("effects", format!("{} effects are stored", more.len()))),
    }
}

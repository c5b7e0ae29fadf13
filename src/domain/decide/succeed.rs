//! An attempt says that it succeeded: believe the open one, refuse all others.

use super::{Call, Event, Refusal, Verdict, open_attempt};
use crate::domain::call::{Attempt, Effect};
use crate::domain::command::Succeed;

pub(super) fn decide(call: &Call, succeed: &Succeed) -> Result<Vec<Event>, Refusal> {
    match call {
        Call::Absent => Err(Refusal::NotFound),
        // Held: its own attempt's word is the best proof there is. Pending: recovered, but not claimed again.
        Call::Pending { .. } | Call::Running { .. } | Call::Held { .. } => {
            let attempt = open_attempt(call, succeed.attempt)?;
            owes(attempt, succeed.effect)?;
            Ok(vec![Event::Succeeded {
                at: succeed.at,
                attempt: attempt.number,
                result: succeed.result.clone(),
                effect: succeed.effect,
                by: Verdict::Attempt,
            }])
        }
        // The answer to the first report may have been lost on its way to the worker.
        Call::Succeeded { attempts, result, effect, .. }
            if (*attempts, result, effect) == (succeed.attempt, &succeed.result, &succeed.effect) =>
        {
            Ok(vec![])
        }
        Call::Succeeded { attempts, .. } | Call::Failed { attempts, .. } => {
            Err(Refusal::Stale { attempt: succeed.attempt, current: *attempts })
        }
    }
}

/// L2: exactly one effect if the tool has a side effect, none if it has not.
pub(super) fn owes(attempt: Attempt, effect: Option<Effect>) -> Result<(), Refusal> {
    match attempt.side_effect == effect.is_some() {
        true => Ok(()),
        false => Err(Refusal::EffectMismatch { owed: attempt.side_effect }),
    }
}

//! A running attempt is to be given up: run it again, fail it, or hold it, as its tool allows.

use super::{Call, Event, Refusal, Verdict, at_most, interrupted};
use crate::domain::command::Recover;
use crate::domain::event::{Interruption, Way};
use crate::domain::policy::Interrupted;

pub(super) fn decide(call: &Call, recover: &Recover) -> Result<Vec<Event>, Refusal> {
    let Recover { at, cause, .. } = *recover;
    let (attempt, owner, lease_until) = match call {
        Call::Absent => return Err(Refusal::NotFound),
        Call::Running { attempt, owner, lease_until, .. } => (*attempt, owner, *lease_until),
        // Nothing runs, so there is nothing to give up: whoever asked saw an older state.
        Call::Pending { .. } | Call::Held { .. } | Call::Succeeded { .. } | Call::Failed { .. } => {
            return Ok(vec![]);
        }
    };
    if attempt.number != recover.attempt {
        return Err(Refusal::Stale { attempt: recover.attempt, current: attempt.number });
    }
    if cause == Interruption::LeaseOver && lease_until > at {
        return Err(Refusal::Leased { until: lease_until });
    }
    let give_up = |way| Event::Recover { at, attempt: attempt.number, lost: owner.clone(), cause, way };
    let fail = |error| Event::Failed { at, attempt: attempt.number, error, by: Verdict::Server };
    match recover.interrupted {
        Some(Interrupted::Replay) => {
            let failure = interrupted(cause.as_str(), &recover.message);
            let failure = at_most(recover.max_attempts, attempt.number, failure);
            Ok(match (cause.has_ended(), failure.retryable) {
                (true, _) => vec![fail(failure)],
                (false, true) => vec![give_up(Way::Requeued)],
                (false, false) => vec![give_up(Way::Requeued), fail(failure)],
            })
        }
        // A tool that is not configured any more has nobody who could say that running it again is safe.
        Some(Interrupted::Probe | Interrupted::Hold) | None => Ok(vec![give_up(Way::Held)]),
    }
}

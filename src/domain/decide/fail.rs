//! An attempt says that it failed: believe the open one, refuse all others.

use super::{Call, Event, Refusal, Verdict, at_most, open_attempt};
use crate::domain::command::Fail;

pub(super) fn decide(call: &Call, fail: &Fail) -> Result<Vec<Event>, Refusal> {
    let failure = at_most(fail.max_attempts, fail.attempt, fail.error.clone());
    match call {
        Call::Absent => Err(Refusal::NotFound),
        Call::Pending { .. } | Call::Running { .. } | Call::Held { .. } => {
            let attempt = open_attempt(call, fail.attempt)?.number;
            Ok(vec![Event::Failed { at: fail.at, attempt, error: failure, by: Verdict::Attempt }])
        }
        // The answer to the first report may have been lost on its way to the worker.
        Call::Failed { attempts, error, .. }
            if !error.retryable && (*attempts, error) == (fail.attempt, &failure) =>
        {
            Ok(vec![])
        }
        Call::Succeeded { attempts, .. } | Call::Failed { attempts, .. } => {
            Err(Refusal::Stale { attempt: fail.attempt, current: *attempts })
        }
    }
}

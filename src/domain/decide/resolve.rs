//! Somebody knows what became of a held call: record it with the grounds.

use super::succeed::owes;
use super::{Call, Event, Refusal, Verdict, interrupted};
use crate::domain::call::Failure;
use crate::domain::command::{Resolution, Resolve};

/// The code of a held call that was given up.
const ABANDONED: &str = "abandoned";

pub(super) fn decide(call: &Call, resolve: &Resolve) -> Result<Vec<Event>, Refusal> {
    let attempt = match call {
        Call::Absent => return Err(Refusal::NotFound),
        Call::Held { attempt, .. } => *attempt,
        Call::Pending { .. } | Call::Running { .. } => return Err(Refusal::NotHeld),
        Call::Failed { error, .. } if error.retryable => return Err(Refusal::NotHeld),
        Call::Succeeded { .. } | Call::Failed { .. } => return Err(Refusal::Final),
    };
    let at = resolve.at;
    let by = Verdict::Settled { who: resolve.who.clone(), evidence: resolve.evidence.clone() };
    let event = match &resolve.outcome {
        Resolution::Happened { result, effect } => {
            owes(attempt, *effect)?;
            Event::Succeeded { at, attempt: attempt.number, result: result.clone(), effect: *effect, by }
        }
        Resolution::NotHappened if attempt.number >= resolve.max_attempts => {
            let error =
                interrupted("not_happened", "it was held and did not happen").exhausted(attempt.number);
            Event::Failed { at, attempt: attempt.number, error, by }
        }
        Resolution::NotHappened => Event::RetryReset { at, due: None, by },
        Resolution::Abandon => {
            let error = Failure {
                code: ABANDONED.into(),
                message: "given up while its outcome was unknown".into(),
                retryable: false,
                cause: None,
            };
            Event::Failed { at, attempt: attempt.number, error, by }
        }
    };
    Ok(vec![event])
}

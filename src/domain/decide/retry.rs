//! The server itself tries a failed call again: wait until it is due, if it may be tried again at all.

use super::{Call, Event, Refusal, Verdict};
use crate::domain::command::Retry;

pub(super) fn decide(call: &Call, retry: &Retry) -> Result<Vec<Event>, Refusal> {
    match call {
        Call::Absent => Err(Refusal::NotFound),
        Call::Failed { error, .. } if error.retryable => {
            Ok(vec![Event::RetryReset { at: retry.at, due: Some(retry.due), by: Verdict::Server }])
        }
        // It ended otherwise, or somebody tries it already.
        Call::Pending { .. }
        | Call::Running { .. }
        | Call::Held { .. }
        | Call::Succeeded { .. }
        | Call::Failed { .. } => Ok(vec![]),
    }
}

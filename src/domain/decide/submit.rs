//! A request with a key arrived: take the key, try a failed call again, or answer with the call as it is.

use super::{Call, Event, Refusal, Verdict};
use crate::domain::call::Request;
use crate::domain::command::Submit;
use crate::domain::json::differing_paths;

/// How many differing members a conflict names: enough to find the mistake, few enough to read.
const MOST_PATHS: usize = 16;

pub(super) fn decide(call: &Call, submit: &Submit) -> Result<Vec<Event>, Refusal> {
    if let Some(known) = call.request() {
        same_request(known, &submit.request)?;
    }
    match call {
        Call::Absent => Ok(vec![Event::Created { request: submit.request.clone() }]),
        Call::Failed { error, .. } if error.retryable => {
            Ok(vec![Event::RetryReset { at: submit.at, due: None, by: Verdict::Client }])
        }
        Call::Pending { .. }
        | Call::Running { .. }
        | Call::Held { .. }
        | Call::Succeeded { .. }
        | Call::Failed { .. } => Ok(vec![]),
    }
}

/// L5: a known key with another fingerprint changes nothing and runs nothing.
fn same_request(known: &Request, new: &Request) -> Result<(), Refusal> {
    if known.fingerprint == new.fingerprint {
        return Ok(());
    }
    let mut paths = differing_paths(&known.args.to_value(), &new.args.to_value(), MOST_PATHS);
    for path in &mut paths {
        path.insert_str(0, if path.starts_with('[') { "args" } else { "args." });
    }
    if known.tool != new.tool {
        paths.insert(0, "tool".into());
    }
    Err(Refusal::IdempotencyConflict { paths })
}

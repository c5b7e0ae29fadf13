//! A worker wants to run the call: give it the lease, if nobody has it and an attempt is left.

use super::{Call, Event, Refusal, Verdict, interrupted};
use crate::domain::call::Attempt;
use crate::domain::command::Claim;

pub(super) fn decide(call: &Call, claim: &Claim) -> Result<Vec<Event>, Refusal> {
    match call {
        Call::Absent => Err(Refusal::NotFound),
        Call::Pending { due: Some(due), .. } if *due > claim.at => Err(Refusal::NotDue { due: *due }),
        Call::Pending { attempts, .. } if *attempts >= claim.policy.max_attempts => {
            let error = interrupted("interrupted", "it ended without a report").exhausted(*attempts);
            Ok(vec![Event::Failed { at: claim.at, attempt: *attempts, error, by: Verdict::Server }])
        }
        Call::Pending { attempts, .. } => Ok(vec![Event::Claimed {
            at: claim.at,
            attempt: Attempt { number: attempts + 1, side_effect: claim.policy.side_effect },
            owner: claim.owner.clone(),
            lease_until: claim.at.plus(claim.policy.lease),
        }]),
        // An expired lease is no exception: it is first recovered, so that the log says who was given up and why.
        Call::Running { lease_until, .. } => Err(Refusal::Leased { until: *lease_until }),
        Call::Held { .. } => Err(Refusal::Held),
        Call::Failed { error, .. } if error.retryable => Err(Refusal::NotPending),
        Call::Succeeded { .. } | Call::Failed { .. } => Err(Refusal::Final),
    }
}

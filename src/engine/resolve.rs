//! Somebody knows what became of a held call: record it with the grounds, and let the call go on from there.

use super::{Engine, EngineError};
use crate::domain::call::{Call, Effect};
use crate::domain::command::{Command, Resolution, Resolve};
use crate::domain::id::CallId;
use crate::domain::json::Canonical;
use crate::domain::refusal::Refusal;
use crate::store::{Snapshot, Store};

/// What somebody says of a held call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// What became of it.
    pub outcome: Outcome,
    /// Who says so.
    pub who: String,
    /// On what grounds.
    pub evidence: String,
}

/// What became of a held call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It happened, with this result; its effect, if its tool has one, is recorded with it.
    Happened {
        /// What the tool answered, or would have.
        result: Canonical,
    },
    /// It did not happen: it runs again if it has an attempt left, and else is failed for good.
    NotHappened,
    /// Whatever happened, nobody will try again: it is failed for good.
    Abandoned,
}

impl<S: Store> Engine<S> {
    /// Settles a held call. Once this returns `Ok`, who said what on which grounds is durable in the log.
    ///
    /// # Errors
    /// `Refused` with `NotFound`, `NotHeld` or `Final`, where there is nothing to settle; `Store` as for a submit.
    pub async fn resolve(&self, id: CallId, settlement: Settlement) -> Result<Snapshot, EngineError> {
        let held = self.get(id).await?.ok_or(Refusal::NotFound)?;
        let policy = held.call.request().and_then(|request| self.policy_of(&request.tool));
        let max_attempts = policy.map_or(self.inner.settings.max_attempts, |policy| policy.max_attempts);
        let owes_effect = matches!(&held.call, Call::Held { attempt, .. } if attempt.side_effect);
        let outcome = match settlement.outcome {
            Outcome::Happened { result } => {
                Resolution::Happened { result, effect: owes_effect.then_some(Effect { amount: None }) }
            }
            Outcome::NotHappened => Resolution::NotHappened,
            Outcome::Abandoned => Resolution::Abandon,
        };
        let resolve = Command::Resolve(Resolve {
            at: self.now(),
            outcome,
            who: settlement.who,
            evidence: settlement.evidence,
            max_attempts,
        });
        let resolved = self.execute(held, &[resolve]).await?.snapshot;
        if matches!(resolved.call, Call::Pending { .. }) {
            self.offer(&resolved);
        }
        Ok(resolved)
    }
}

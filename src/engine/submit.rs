//! A request with a key: check it, take the key or find the call it leads to, hand the call to the workers.

use std::sync::Arc;

use super::crash::MEMBERS;
use super::observe::Happening;
use super::{Engine, EngineError, ids};
use crate::domain::call::Request;
use crate::domain::command::{Command, Submit};
use crate::domain::fingerprint::fingerprint;
use crate::domain::id::{ClientId, IdemKey, ToolName};
use crate::domain::json::Value;
use crate::domain::refusal::Refusal;
use crate::store::{Snapshot, Store};

/// What a client asks for.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Names the intended call.
    pub key: IdemKey,
    /// What is to run.
    pub tool: ToolName,
    /// With what: an object.
    pub args: Value,
    /// Who asks, if it says so.
    pub client_id: Option<ClientId>,
    /// The client's own number for it, if it gives one.
    pub seq: Option<u64>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// The call the key leads to; durable.
    pub snapshot: Snapshot,
    /// Whether this very request changed the call (took the key, or tried a failed call again).
    pub appended: bool,
}

impl<S: Store> Engine<S> {
    /// Accepts a call, or finds the one that `submission.key` already leads to.
    ///
    /// Once this returns `Ok`, the answer is durable. If the future is dropped, the request is carried out all the
    /// same, completely or not at all.
    ///
    /// # Errors
    /// `Invalid`: the tool or its args cannot be; the key stays free. `Refused`: the key belongs to another request.
    /// `Overloaded`: nothing was written. `Store`: not acknowledged; the outcome may be unknown.
    pub async fn submit(&self, submission: Submission) -> Result<Submitted, EngineError> {
        let Ok(permit) = self.inner.submits.clone().try_acquire_owned() else {
            self.inner.observer.observe(&Happening::Overloaded);
            return Err(EngineError::Overloaded);
        };
        let engine = self.clone();
        // In a task of its own, so that a client who hangs up cannot stop it half way.
        let accepted = self.inner.tasks.spawn(async move {
            let accepted = engine.accept(submission).await;
            drop(permit);
            accepted
        });
        accepted.await.map_err(|fault| EngineError::Internal(fault.to_string()))?
    }

    async fn accept(&self, submission: Submission) -> Result<Submitted, EngineError> {
        let invalid = self.check(&submission);
        let Submission { key, tool, args, client_id, seq } = submission;
        let args = args.canonical();
        let at = self.inner.settings.clock.now();
        let request = Arc::new(Request {
            call_id: ids::call_id(),
            fingerprint: fingerprint(tool.as_str(), &args),
            key,
            tool,
            args,
            client_id,
            seq,
            created_at: at,
        });
        let known = match invalid {
            Ok(()) => Snapshot::absent(),
            // A known key is answered as known, even if its tool has gone or changed its mind meanwhile.
            Err(invalid) => self.inner.store.find(&request.key).await?.ok_or(invalid)?,
        };
        self.inner.settings.crash.pass("submit.before_append");
        let submitted = self.execute(known, &[Command::Submit(Submit { at, request })]).await;
        self.inner.settings.crash.pass("submit.after_append");
        match submitted {
            Ok(executed) => {
                if executed.appended {
                    self.offer(&executed.snapshot);
                } else {
                    self.inner.observer.observe(&Happening::Replayed);
                }
                Ok(Submitted { snapshot: executed.snapshot, appended: executed.appended })
            }
            Err(error) => {
                if matches!(error, EngineError::Refused(Refusal::IdempotencyConflict { .. })) {
                    self.inner.observer.observe(&Happening::Conflict);
                }
                Err(error)
            }
        }
    }

    /// Whether the request could run at all.
    fn check(&self, submission: &Submission) -> Result<(), EngineError> {
        let tools = &self.inner.tools;
        let tool = tools.get(&submission.tool).ok_or_else(|| {
            let known = tools.names().join(", ");
            EngineError::Invalid(format!("tool: there is no tool `{}`; there are {known}", submission.tool))
        })?;
        for member in MEMBERS {
            if submission.args.get(member).is_some() && !self.inner.settings.crash.is_armed() {
                let problem =
                    format!("args.{member}: crash points work only on a server started with --chaos");
                return Err(EngineError::Invalid(problem));
            }
        }
        tool.check(&submission.args).map_err(|invalid| EngineError::Invalid(invalid.to_string()))
    }
}

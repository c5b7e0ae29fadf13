//! A request with a key: check it, take the key or find the call it leads to, hand the call to the workers.

use std::sync::Arc;
use std::time::Duration;

use super::crash::MEMBERS;
use super::observe::Happening;
use super::trace::TraceParent;
use super::wait::{Subscription, Until};
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
    /// The trace that the client's request is part of, if it says so; not part of the call.
    pub trace: Option<TraceParent>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// The call the key leads to; durable.
    pub snapshot: Snapshot,
    /// Whether this very request changed the call (took the key, or tried a failed call again).
    pub appended: bool,
    /// Whether it took the key.
    pub is_new: bool,
}

/// Whether somebody waits for what becomes of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    Yes,
    No,
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
        Ok(self.submit_followed(submission, Follow::No).await?.0)
    }

    /// Accepts a call as [`Engine::submit`] does, and waits until it settles, for at most `at_most`. The call that is
    /// returned is as it was last seen.
    ///
    /// # Errors
    /// As for [`Engine::submit`]. What becomes of the wait takes nothing back.
    pub async fn submit_and_wait(
        &self,
        submission: Submission,
        at_most: Duration,
    ) -> Result<Submitted, EngineError> {
        let (mut submitted, news) = self.submit_followed(submission, Follow::Yes).await?;
        let Some(id) = submitted.snapshot.call.request().map(|request| request.call_id) else {
            return Ok(submitted);
        };
        submitted.snapshot = match news {
            Some(news) => self.watch(news, submitted.snapshot, Until::Settled, at_most).await,
            None => {
                let settled = self.wait(id, Until::Settled, at_most).await;
                settled.ok().flatten().unwrap_or(submitted.snapshot)
            }
        };
        Ok(submitted)
    }

    async fn submit_followed(
        &self,
        submission: Submission,
        follow: Follow,
    ) -> Result<(Submitted, Option<Subscription>), EngineError> {
        let turn = self.inner.submits.clone().acquire_owned();
        let Ok(Ok(permit)) = tokio::time::timeout(self.inner.settings.submit_patience, turn).await else {
            self.inner.observer.observe(&Happening::Overloaded);
            return Err(EngineError::Overloaded);
        };
        let engine = self.clone();
        // In a task of its own, so that a client who hangs up cannot stop it half way.
        let accepted = self.inner.tasks.spawn(async move {
            let accepted = engine.accept(submission, follow).await;
            drop(permit);
            accepted
        });
        accepted.await.map_err(|fault| EngineError::Internal(fault.to_string()))?
    }

    /// With the subscription to a new call that was asked to be followed.
    async fn accept(
        &self,
        submission: Submission,
        follow: Follow,
    ) -> Result<(Submitted, Option<Subscription>), EngineError> {
        let invalid = self.check(&submission);
        let Submission { key, tool, args, client_id, seq, trace } = submission;
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
        let new_call = request.call_id;
        // Before it can run, so that no look at the store is needed for what happened meanwhile.
        let news = (follow == Follow::Yes).then(|| self.inner.waiters.subscribe(new_call));
        self.inner.settings.crash.pass("submit.before_append");
        let submitted = self.execute(known, &[Command::Submit(Submit { at, request })]).await;
        self.inner.settings.crash.pass("submit.after_append");
        match submitted {
            Ok(executed) => {
                if executed.appended {
                    self.remember(&executed.snapshot, trace);
                    self.offer(&executed.snapshot);
                } else {
                    self.inner.observer.observe(&Happening::Replayed);
                }
                let is_new =
                    executed.snapshot.call.request().is_some_and(|request| request.call_id == new_call);
                let submitted =
                    Submitted { snapshot: executed.snapshot, appended: executed.appended, is_new };
                Ok((submitted, news.filter(|_| is_new)))
            }
            Err(error) => {
                if matches!(error, EngineError::Refused(Refusal::IdempotencyConflict { .. })) {
                    self.inner.observer.observe(&Happening::Conflict);
                }
                Err(error)
            }
        }
    }

    /// Keeps the trace that made the call pending, for the attempts that follow.
    fn remember(&self, pending: &Snapshot, trace: Option<TraceParent>) {
        if let (Some(request), Some(trace)) = (pending.call.request(), trace) {
            self.inner.traces.remember(request.call_id, trace);
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

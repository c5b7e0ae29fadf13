//! One attempt: claim the call, run its tool within its limit, record what came of it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use super::clock::Stopwatch;
use super::crash::{CRASH_AFTER_COMMIT, CRASH_BEFORE_COMMIT, STALL_BEFORE_REPORT};
use super::observe::Happening;
use super::pool::Lane;
use super::tools::{Invocation, Outcome, Tool};
use super::wait::Until;
use super::{Engine, EngineError, ids};
use crate::domain::call::{Call, Effect, Failure, Request};
use crate::domain::command::{Claim, Command, Fail, Recover, Retry, Succeed};
use crate::domain::decide;
use crate::domain::event::Interruption;
use crate::domain::evolve::evolve_all;
use crate::domain::json::Value;
use crate::domain::policy::{Policy, Retries};
use crate::domain::refusal::Refusal;
use crate::domain::time::Timestamp;
use crate::store::{Snapshot, Store};

/// How long to wait before an outcome that the store would not take is offered again.
const RECORD_AGAIN: Duration = Duration::from_millis(200);
/// How long a worker that is made to stall waits for the same thing: beyond any lease, so that it only looks once.
const LONG: Duration = Duration::from_secs(3600);

impl<S: Store> Engine<S> {
    /// Runs one attempt of a pending call. Whatever goes wrong, the call is left as something can find it.
    pub(super) async fn attempt(&self, lane: &Lane, pending: Snapshot) {
        let Some(request) = pending.call.request().cloned() else { return };
        if self.inner.stop.is_cancelled() {
            return self.inner.pool.leave(request.call_id);
        }
        let crash = &self.inner.settings.crash;
        let comes_between =
            || asks_for(&request, CRASH_BEFORE_COMMIT) || asks_for(&request, STALL_BEFORE_REPORT);
        match lane.tool.terms().local && !crash.parts_claim_from_outcome(comes_between) {
            true => self.attempt_at_once(lane, pending, &request).await,
            false => self.attempt_in_steps(lane, pending, &request).await,
        }
    }

    /// The attempt of a local tool: its claim and its outcome in one append, because nothing outside this process could
    /// have happened between the two, and a transaction less is a third of the cost of a call.
    async fn attempt_at_once(&self, lane: &Lane, pending: Snapshot, request: &Request) {
        self.inner.settings.crash.pass("worker.before_claim");
        let policy = self.policy(lane.tool.as_ref());
        let claim = self.claim(&policy);
        let claimed = decide(&pending.call, &claim).map(|events| evolve_all(&pending.call, &events));
        let mut commands = vec![claim];
        if let Ok(Ok(Call::Running { attempt, .. })) = claimed {
            let ended = self.run(lane.tool.as_ref(), request, attempt.number, policy.time_limit).await;
            commands.extend(self.report(lane.tool.as_ref(), request, attempt.number, ended, &policy));
        }
        let executed = self.execute(pending, &commands).await;
        self.inner.pool.leave(request.call_id);
        match executed {
            Ok(_) => {
                self.inner
                    .settings
                    .crash
                    .pass_if(|| asks_for(request, CRASH_AFTER_COMMIT), "worker.after_commit");
            }
            Err(error) => self.not_claimed(lane, &error),
        }
    }

    /// The attempt of a tool that may do something elsewhere: nothing of it runs before its claim is durable.
    async fn attempt_in_steps(&self, lane: &Lane, pending: Snapshot, request: &Request) {
        let crash = &self.inner.settings.crash;
        crash.pass("worker.before_claim");
        let policy = self.policy(lane.tool.as_ref());
        let claimed = self.execute(pending, &[self.claim(&policy)]).await;
        // Before it runs, which takes a while: whoever finds the call running needs to know of no queue.
        self.inner.pool.leave(request.call_id);
        let claimed = match claimed {
            Ok(executed) => executed.snapshot,
            Err(error) => return self.not_claimed(lane, &error),
        };
        let Call::Running { attempt, .. } = &claimed.call else { return };
        let number = attempt.number;
        crash.pass("worker.after_claim");
        let ended = self.run(lane.tool.as_ref(), request, number, policy.time_limit).await;
        crash.pass_if(|| asks_for(request, CRASH_BEFORE_COMMIT), "worker.after_tool");
        if number == 1 && crash.is_armed() && asks_for(request, STALL_BEFORE_REPORT) {
            self.outlive_the_lease(&claimed, request, number).await;
        }
        let report = self.report(lane.tool.as_ref(), request, number, ended, &policy);
        if self.record(claimed, &report).await {
            crash.pass_if(|| asks_for(request, CRASH_AFTER_COMMIT), "worker.after_commit");
        }
    }

    fn claim(&self, policy: &Policy) -> Command {
        Command::Claim(Claim {
            at: self.inner.settings.clock.now(),
            owner: self.inner.settings.owner.clone(),
            policy: policy.clone(),
        })
    }

    /// Somebody else has it, or the store would not take it.
    fn not_claimed(&self, lane: &Lane, error: &EngineError) {
        match error {
            EngineError::Refused(refusal) => tracing::debug!(%refusal, "not claimed"),
            // It stays pending, so the feed finds it when the store works again.
            EngineError::Invalid(_)
            | EngineError::Overloaded
            | EngineError::Store(_)
            | EngineError::Internal(_) => lane.fall_behind(),
        }
    }

    async fn run(&self, tool: &dyn Tool, request: &Request, attempt: u32, limit: Duration) -> Ended {
        let invocation = Invocation {
            call_id: request.call_id,
            effect_id: request.effect_id(),
            attempt,
            args: request.args.clone(),
            trace: self.inner.traces.of(request.call_id, attempt),
        };
        let watch = Stopwatch::start();
        let running = AssertUnwindSafe(tool.run(invocation)).catch_unwind();
        let ended = match tokio::time::timeout(limit, running).await {
            Ok(Ok(Outcome::Succeeded { result, amount })) => Ended::Succeeded { result, amount },
            Ok(Ok(Outcome::Failed(failure))) => Ended::Failed { failure, after: None },
            Ok(Ok(Outcome::NotNow { failure, after })) => Ended::Failed { failure, after: Some(after) },
            Ok(Ok(Outcome::Unknown { message })) => {
                Ended::Interrupted { cause: Interruption::OutcomeUnknown, message }
            }
            Ok(Err(panic)) => {
                let message = format!("the tool panicked: {}", panic_message(panic.as_ref()));
                tracing::error!(tool = tool.name(), call = %request.call_id, attempt, %message);
                Ended::Interrupted { cause: Interruption::Panicked, message }
            }
            Err(_) => Ended::Interrupted {
                cause: Interruption::TimedOut,
                message: format!("the tool did not end within {limit:?}"),
            },
        };
        self.inner.observer.observe(&Happening::ToolEnded {
            tool: tool.name(),
            outcome: ended.word(),
            ran: watch.elapsed(),
        });
        ended
    }

    /// Keeps what it knows to itself until a newer attempt has begun, or nothing can begin any more.
    async fn outlive_the_lease(&self, claimed: &Snapshot, request: &Request, number: u32) {
        let mut version = claimed.version;
        while !self.inner.stop.is_cancelled() {
            let moved = self.wait(request.call_id, Until::Changed(version), LONG).await;
            let Ok(Some(snapshot)) = moved else { return };
            let open = matches!(snapshot.call, Call::Pending { .. } | Call::Running { .. });
            if snapshot.call.attempts() > number || !open {
                return;
            }
            version = snapshot.version;
        }
    }

    /// How the attempt ended, and that the server tries again, if it failed and its tool asks for that. Both are one append,
    /// so nobody sees a failure that is none yet.
    fn report(
        &self,
        tool: &dyn Tool,
        request: &Request,
        attempt: u32,
        ended: Ended,
        policy: &Policy,
    ) -> Vec<Command> {
        let at = self.inner.settings.clock.now();
        let due = |retries: Retries| {
            retries.due(request.created_at, at, attempt, ids::chance(), ended.asked_to_wait())
        };
        match tool.terms().retries.map(due) {
            None => vec![ended.into_command(at, attempt, policy.max_attempts, policy)],
            Some(Some(due)) => vec![
                ended.into_command(at, attempt, policy.max_attempts, policy),
                Command::Retry(Retry { at, due }),
            ],
            // The time for trying is over, as if this were the last attempt.
            Some(None) => vec![ended.into_command(at, attempt, attempt, policy)],
        }
    }

    /// Records how the attempt ended; keeps trying while the store is out of order, because what is to be recorded
    /// may be an effect. Returns whether it was recorded.
    async fn record(&self, claimed: Snapshot, report: &[Command]) -> bool {
        let attempt = claimed.call.attempts();
        let call_id = claimed.call.request().map(|request| request.call_id);
        loop {
            match self.execute(claimed.clone(), report).await {
                Ok(executed) => return executed.appended,
                Err(EngineError::Refused(Refusal::Stale { attempt, current })) => {
                    tracing::warn!(call = ?call_id, attempt, current, "a late report was refused");
                    if let Some(call_id) = call_id {
                        let stale = Happening::StaleReport { call_id, attempt, current };
                        self.inner.observer.observe(&stale);
                    }
                    return false;
                }
                Err(EngineError::Store(_)) => {
                    let again = tokio::time::sleep(RECORD_AGAIN);
                    tokio::select! {
                        biased;
                        () = self.inner.stop.cancelled() => return false,
                        () = again => {}
                    }
                }
                Err(error) => {
                    tracing::error!(call = ?call_id, attempt, %error, "the outcome could not be recorded");
                    return false;
                }
            }
        }
    }
}

/// How an attempt ended.
enum Ended {
    Succeeded { result: Value, amount: Option<i64> },
    Failed { failure: Failure, after: Option<Duration> },
    Interrupted { cause: Interruption, message: String },
}

impl Ended {
    fn word(&self) -> &'static str {
        match self {
            Self::Succeeded { .. } => "succeeded",
            Self::Failed { .. } => "failed",
            Self::Interrupted { cause, .. } => cause.as_str(),
        }
    }

    /// How long the downstream asked to be left alone.
    fn asked_to_wait(&self) -> Option<Duration> {
        match self {
            Self::Failed { after, .. } => *after,
            Self::Succeeded { .. } | Self::Interrupted { .. } => None,
        }
    }

    fn into_command(self, at: Timestamp, attempt: u32, max_attempts: u32, policy: &Policy) -> Command {
        match self {
            Self::Succeeded { result, amount } => Command::Succeed(Succeed {
                at,
                attempt,
                result: result.canonical(),
                effect: policy.side_effect.then_some(Effect { amount }),
            }),
            Self::Failed { failure: error, .. } => Command::Fail(Fail { at, attempt, error, max_attempts }),
            Self::Interrupted { cause, message } => Command::Recover(Recover {
                at,
                attempt,
                cause,
                message,
                interrupted: Some(policy.interrupted),
                max_attempts,
            }),
        }
    }
}

fn asks_for(request: &Request, member: &str) -> bool {
    request.args.as_str().contains(member)
        && request.args.to_value().get(member).and_then(Value::as_bool) == Some(true)
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

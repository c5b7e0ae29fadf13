//! One attempt: claim the call, run its tool within its limit, record what came of it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use super::clock::Stopwatch;
use super::crash::{CRASH_AFTER_COMMIT, CRASH_BEFORE_COMMIT};
use super::observe::Happening;
use super::pool::Lane;
use super::tools::{Invocation, Outcome, Tool};
use super::{Engine, EngineError};
use crate::domain::call::{Call, Effect, Failure, Request};
use crate::domain::command::{Claim, Command, Fail, Recover, Succeed};
use crate::domain::event::Interruption;
use crate::domain::json::Value;
use crate::domain::policy::Policy;
use crate::domain::refusal::Refusal;
use crate::store::{Snapshot, Store};

/// How long to wait before an outcome that the store would not take is offered again.
const RECORD_AGAIN: Duration = Duration::from_millis(200);

impl<S: Store> Engine<S> {
    /// Runs one attempt of a pending call. Whatever goes wrong, the call is left as something can find it.
    pub(super) async fn attempt(&self, lane: &Lane, pending: Snapshot) {
        let tool = lane.tool.as_ref();
        let policy = self.policy(tool);
        let call_id = pending.call.request().map(|request| request.call_id);
        let claimed = self.claim(lane, pending, &policy).await;
        if let Some(call_id) = call_id {
            self.inner.pool.leave(call_id);
        }
        let Some(claimed) = claimed else { return };
        let Call::Running { request, attempt, .. } = &claimed.call else { return };
        let (request, number) = (request.clone(), attempt.number);
        let crash = &self.inner.settings.crash;
        crash.pass("worker.after_claim");
        let ended = self.run(tool, &request, number, policy.time_limit).await;
        crash.pass_if(asks_for(&request, CRASH_BEFORE_COMMIT), "worker.after_tool");
        if self.record(claimed, number, ended, &policy).await {
            crash.pass_if(asks_for(&request, CRASH_AFTER_COMMIT), "worker.after_commit");
        }
    }

    /// The claimed call, or nothing if somebody else has it, it has no attempt left, the store would not take it,
    /// or the engine is stopping.
    async fn claim(&self, lane: &Lane, pending: Snapshot, policy: &Policy) -> Option<Snapshot> {
        if self.inner.stop.is_cancelled() {
            return None;
        }
        self.inner.settings.crash.pass("worker.before_claim");
        let claim = Claim {
            at: self.inner.settings.clock.now(),
            owner: self.inner.settings.owner.clone(),
            policy: policy.clone(),
        };
        match self.execute(pending, &Command::Claim(claim)).await {
            Ok(executed) => Some(executed.snapshot),
            Err(EngineError::Refused(refusal)) => {
                tracing::debug!(%refusal, "not claimed");
                None
            }
            // It stays pending, so the feed finds it when the store works again.
            Err(_) => {
                lane.fall_behind();
                None
            }
        }
    }

    async fn run(&self, tool: &dyn Tool, request: &Request, attempt: u32, limit: Duration) -> Ended {
        let invocation = Invocation {
            call_id: request.call_id,
            effect_id: request.effect_id(),
            attempt,
            args: request.args.clone(),
        };
        let watch = Stopwatch::start();
        let running = AssertUnwindSafe(tool.run(invocation)).catch_unwind();
        let ended = match tokio::time::timeout(limit, running).await {
            Ok(Ok(Outcome::Succeeded { result, amount })) => Ended::Succeeded { result, amount },
            Ok(Ok(Outcome::Failed(failure))) => Ended::Failed(failure),
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

    /// Records how the attempt ended; keeps trying while the store is out of order, because what is to be recorded
    /// may be an effect. Returns whether it was recorded.
    async fn record(&self, claimed: Snapshot, attempt: u32, ended: Ended, policy: &Policy) -> bool {
        let command = ended.into_command(self.inner.settings.clock.now(), attempt, policy);
        let call_id = claimed.call.request().map(|request| request.call_id);
        loop {
            match self.execute(claimed.clone(), &command).await {
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
    Failed(Failure),
    Interrupted { cause: Interruption, message: String },
}

impl Ended {
    fn word(&self) -> &'static str {
        match self {
            Self::Succeeded { .. } => "succeeded",
            Self::Failed(_) => "failed",
            Self::Interrupted { cause, .. } => cause.as_str(),
        }
    }

    fn into_command(self, at: crate::domain::time::Timestamp, attempt: u32, policy: &Policy) -> Command {
        let max_attempts = policy.max_attempts;
        match self {
            Self::Succeeded { result, amount } => Command::Succeed(Succeed {
                at,
                attempt,
                result: result.canonical(),
                effect: policy.side_effect.then_some(Effect { amount }),
            }),
            Self::Failed(error) => Command::Fail(Fail { at, attempt, error, max_attempts }),
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

//! The rules: what a command does to a call in each state. One file a command; this one only finds it.
//!
//! The table is in `docs/state-machine.md`, and a test holds the two together.

mod claim;
mod fail;
mod recover;
mod resolve;
mod retry;
mod submit;
mod succeed;

use super::call::{Attempt, Call, Failure};
use super::command::Command;
use super::event::{Event, Verdict};
use super::refusal::Refusal;

/// The events that `command` leads to in the state `call`; none where the command changes nothing and the call as it
/// is answers it.
///
/// Every event returned is legal: folding them over `call` with [`evolve`](super::evolve()) cannot fail.
///
/// # Errors
/// A [`Refusal`] says why nothing may happen.
pub fn decide(call: &Call, command: &Command) -> Result<Vec<Event>, Refusal> {
    match command {
        Command::Submit(submit) => submit::decide(call, submit),
        Command::Claim(claim) => claim::decide(call, claim),
        Command::Succeed(succeed) => succeed::decide(call, succeed),
        Command::Fail(fail) => fail::decide(call, fail),
        Command::Recover(recover) => recover::decide(call, recover),
        Command::Retry(retry) => retry::decide(call, retry),
        Command::Resolve(resolve) => resolve::decide(call, resolve),
    }
}

/// The fence: the call's open attempt, if it is the one that reports.
fn open_attempt(call: &Call, reporting: u32) -> Result<Attempt, Refusal> {
    call.open_attempt()
        .filter(|open| open.number == reporting)
        .ok_or(Refusal::Stale { attempt: reporting, current: call.attempts() })
}

/// A failure, turned into the last one where no attempt is left.
fn at_most(max_attempts: u32, attempt: u32, error: Failure) -> Failure {
    match error.retryable && attempt >= max_attempts {
        true => error.exhausted(attempt),
        false => error,
    }
}

/// What is said of an attempt that did not fail by its own word.
fn interrupted(code: &str, message: &str) -> Failure {
    Failure { code: code.into(), message: message.into(), retryable: true, cause: None }
}

//! Calls in each state, and what can be asked of them: the words that tests of the rules are told in.
//!
//! ```text
//! Given::pending().when(claim()).then([claimed(1)]).when(succeed(1)).then([succeeded(1)]).is("final");
//! ```
//!
//! Everything happens at [`NOW`], to one call of one tool with a side effect. Commands are plain structs, so a test that
//! means another instant or another policy says so: `Claim { at: LEASE_OVER, ..claim() }`.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::call::{Attempt, Call, Effect, Failure, Request};
use crate::domain::command::{Claim, Command, Fail, Recover, Resolution, Resolve, Retry, Submit, Succeed};
use crate::domain::event::{Event, Interruption, Verdict, Way};
use crate::domain::fingerprint::fingerprint;
use crate::domain::id::{CallId, IdemKey, Owner, ToolName};
use crate::domain::json::{Canonical, Value};
use crate::domain::policy::{Interrupted, Policy};
use crate::domain::time::Timestamp;
use crate::domain::{Refusal, decide, evolve};

/// When everything happens.
pub const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
/// When a lease given at [`NOW`] is over.
pub const LEASE_OVER: Timestamp = Timestamp::from_micros(NOW.as_micros() + LEASE.as_micros() as i64);
/// How many attempts the call may have.
pub const MAX_ATTEMPTS: u32 = 3;

const LEASE: Duration = Duration::from_secs(30);
const AMOUNT: i64 = 100;

/// A call that has had some events.
#[derive(Debug, Clone)]
pub struct Given {
    /// Its state.
    pub call: Call,
}

impl Given {
    /// No event yet.
    pub const fn absent() -> Self {
        Self { call: Call::Absent }
    }

    /// Created, and never claimed.
    pub fn pending() -> Self {
        Self::absent().after(created())
    }

    /// In its first attempt.
    pub fn running() -> Self {
        Self::pending().after(claimed(1))
    }

    /// Pending again after its first attempt was given up; that attempt may still report.
    pub fn recovered() -> Self {
        Self::running().after(given_up(1, Interruption::LeaseOver, Way::Requeued))
    }

    /// Its first attempt was given up, and nobody knows what it did.
    pub fn held() -> Self {
        Self::running().after(given_up(1, Interruption::LeaseOver, Way::Held))
    }

    /// Its first attempt failed, and the same key may try again.
    pub fn failed_retryable() -> Self {
        Self::running().after(failed(1, refused()))
    }

    /// Its first attempt failed for good.
    pub fn failed() -> Self {
        Self::running().after(failed(1, declined()))
    }

    /// Its first attempt succeeded.
    pub fn succeeded() -> Self {
        Self::running().after(succeeded(1))
    }

    /// The call after one more event.
    ///
    /// # Panics
    /// If the event is illegal.
    #[must_use]
    #[track_caller]
    pub fn after(self, event: Event) -> Self {
        match evolve(&self.call, &event) {
            Ok(call) => Self { call },
            Err(illegal) => panic!("the story is impossible: {illegal}"),
        }
    }

    /// Asks something of the call.
    pub fn when(&self, command: impl Into<Command>) -> Then {
        Then { decided: decide(&self.call, &command.into()), given: self.clone() }
    }

    /// The call is in the state with this name.
    ///
    /// # Panics
    /// If it is not.
    #[track_caller]
    pub fn is(self, state: &str) -> Self {
        assert_eq!(self.call.state_name(), state, "{:?}", self.call);
        self
    }
}

/// What was decided of a command.
#[derive(Debug)]
#[must_use = "a decision that nobody looks at proves nothing"]
pub struct Then {
    given: Given,
    decided: Result<Vec<Event>, Refusal>,
}

impl Then {
    /// Exactly these events; the call after them goes on with the story.
    ///
    /// # Panics
    /// If anything else was decided.
    #[track_caller]
    pub fn then<const N: usize>(self, events: [Event; N]) -> Given {
        assert_eq!(self.decided, Ok(events.to_vec()), "decided of {:?}", self.given.call);
        events.into_iter().fold(self.given, Given::after)
    }

    /// Nothing: the call as it is answers the command.
    ///
    /// # Panics
    /// If anything else was decided.
    #[track_caller]
    pub fn nothing(self) {
        self.then([]);
    }

    /// A refusal.
    ///
    /// # Panics
    /// If anything else was decided.
    #[track_caller]
    pub fn refused(self, refusal: Refusal) {
        assert_eq!(self.decided, Err(refusal), "decided of {:?}", self.given.call);
    }
}

/// What the client asks for.
pub fn request() -> Request {
    let key = IdemKey::parse("demo-1").expect("a valid key");
    let tool = ToolName::parse("charge").expect("a valid name");
    let args = Value::object([("amount", Value::from(AMOUNT))]).canonical();
    let fingerprint = fingerprint(tool.as_str(), &args);
    let call_id = CallId::from_bytes([7; 16]);
    Request { call_id, key, tool, args, fingerprint, client_id: None, seq: None, created_at: NOW }
}

/// The same key with other args.
pub fn other_request() -> Request {
    let args = Value::object([("amount", Value::from(AMOUNT + 1))]).canonical();
    let fingerprint = fingerprint("charge", &args);
    Request { args, fingerprint, ..request() }
}

/// Who runs the attempts.
pub fn owner() -> Owner {
    Owner::parse("1:a").expect("a valid owner")
}

/// What a success answers.
pub fn result() -> Canonical {
    Value::object([("charged", Value::from(AMOUNT))]).canonical()
}

/// What a success does.
pub const fn effect() -> Effect {
    Effect { amount: Some(AMOUNT) }
}

/// A failure that may be tried again.
pub fn refused() -> Failure {
    failure("refused", "not now", true)
}

/// A failure for good.
pub fn declined() -> Failure {
    failure("declined", "never", false)
}

/// A failure with nothing behind it.
pub fn failure(code: &str, message: &str, retryable: bool) -> Failure {
    Failure { code: code.into(), message: message.into(), retryable, cause: None }
}

/// The policy of a tool whose interrupted attempts are treated like this.
pub const fn policy() -> Policy {
    Policy {
        side_effect: true,
        interrupted: Interrupted::Replay,
        time_limit: Duration::from_secs(25),
        lease: LEASE,
        max_attempts: MAX_ATTEMPTS,
    }
}

/// The person who settles held calls.
pub fn settled() -> Verdict {
    Verdict::Settled { who: "ada".into(), evidence: "ledger".into() }
}

/// When an attempt can be given up for this cause.
const fn given_up_at(cause: Interruption) -> Timestamp {
    match cause {
        Interruption::LeaseOver => LEASE_OVER,
        Interruption::OwnerGone
        | Interruption::TimedOut
        | Interruption::Panicked
        | Interruption::OutcomeUnknown => NOW,
    }
}

/// The key was taken.
pub fn created() -> Event {
    Event::Created { request: Arc::new(request()) }
}

/// Attempt `number` began.
pub fn claimed(number: u32) -> Event {
    let attempt = Attempt { number, side_effect: true };
    Event::Claimed { at: NOW, attempt, owner: owner(), lease_until: LEASE_OVER }
}

/// Attempt `attempt` says that it happened.
pub fn succeeded(attempt: u32) -> Event {
    Event::Succeeded { at: NOW, attempt, result: result(), effect: Some(effect()), by: Verdict::Attempt }
}

/// Attempt `attempt` says that it failed.
pub const fn failed(attempt: u32, error: Failure) -> Event {
    Event::Failed { at: NOW, attempt, error, by: Verdict::Attempt }
}

/// The client asked again.
pub const fn reset() -> Event {
    Event::RetryReset { at: NOW, due: None, by: Verdict::Client }
}

/// Attempt `attempt` was given up.
pub fn given_up(attempt: u32, cause: Interruption, way: Way) -> Event {
    Event::Recover { at: given_up_at(cause), attempt, lost: owner(), cause, way }
}

/// The request arrives.
pub fn submit() -> Submit {
    Submit { at: NOW, request: Arc::new(request()) }
}

/// A worker wants it.
pub fn claim() -> Claim {
    Claim { at: NOW, owner: owner(), policy: policy() }
}

/// Attempt `attempt` reports success.
pub fn succeed(attempt: u32) -> Succeed {
    Succeed { at: NOW, attempt, result: result(), effect: Some(effect()) }
}

/// Attempt `attempt` reports a failure.
pub const fn fail(attempt: u32, error: Failure) -> Fail {
    Fail { at: NOW, attempt, error, max_attempts: MAX_ATTEMPTS }
}

/// Attempt `attempt` is to be given up, of a tool whose interrupted attempts are treated like this.
pub fn recover(attempt: u32, cause: Interruption, interrupted: Option<Interrupted>) -> Recover {
    let at = given_up_at(cause);
    Recover { at, attempt, cause, message: "interrupted".into(), interrupted, max_attempts: MAX_ATTEMPTS }
}

/// The server tries it again at `due`.
pub const fn retry(due: Timestamp) -> Retry {
    Retry { at: NOW, due }
}

/// Somebody settles the call.
pub fn resolve(outcome: Resolution) -> Resolve {
    let (who, evidence) = ("ada".into(), "ledger".into());
    Resolve { at: NOW, outcome, who, evidence, max_attempts: MAX_ATTEMPTS }
}

/// It happened, as [`succeeded`] has it.
pub fn happened() -> Resolution {
    Resolution::Happened { result: result(), effect: Some(effect()) }
}

macro_rules! commands {
    ($($name:ident),+) => {
        $(impl From<$name> for Command {
            fn from(command: $name) -> Self {
                Self::$name(command)
            }
        })+
    };
}

commands!(Submit, Claim, Succeed, Fail, Recover, Retry, Resolve);

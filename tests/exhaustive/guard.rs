//! What keeps the laws, and what the world looks like to the rules when one of these guards is taken away.
//!
//! `decide` and `evolve` are always the real ones. A guard is taken away by not showing them what it looks at.

use callonce::domain::Command;
use callonce::domain::call::{Attempt, Call};
use callonce::domain::policy::Interrupted;
use callonce::testing::random_calls::{at, owner};

/// One reason why an effect happens once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// A key is taken once: `calls.idem_key UNIQUE`.
    KeyUnique,
    /// The fingerprint of a request is compared with the one the key was taken with.
    Fingerprint,
    /// An append counts only at the version that was read.
    Version,
    /// Who holds the lease runs alone.
    Lease,
    /// Only the current attempt may report.
    AttemptFence,
    /// A call's effect is recorded once: a final call takes no second one, and `effects.call_id UNIQUE`.
    EffectUnique,
    /// The effect id is fixed before the tool runs, and the same for all attempts.
    FixedEffectId,
    /// An attempt that may have done something is not run again where that could double it.
    Hold,
    /// "It did not happen" counts only once nothing is under way any more.
    Settled,
    /// A final failure is not tried again.
    Final,
    /// Somebody looks for leases that are over.
    Sweeper,
}

impl Guard {
    pub const ALL: [Self; 11] = [
        Self::KeyUnique,
        Self::Fingerprint,
        Self::Version,
        Self::Lease,
        Self::AttemptFence,
        Self::EffectUnique,
        Self::FixedEffectId,
        Self::Hold,
        Self::Settled,
        Self::Final,
        Self::Sweeper,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KeyUnique => "a key is taken once",
            Self::Fingerprint => "another request under the same key is refused",
            Self::Version => "an append counts only at the version that was read",
            Self::Lease => "who holds the lease runs alone",
            Self::AttemptFence => "only the current attempt may report",
            Self::EffectUnique => "an effect is recorded once",
            Self::FixedEffectId => "the effect id is fixed before the tool runs",
            Self::Hold => "an attempt of unknown outcome is held",
            Self::Settled => "'it did not happen' counts only once nothing is under way",
            Self::Final => "a final failure is not tried again",
            Self::Sweeper => "leases that are over are looked for",
        }
    }

    /// The call and the command as the rules see them without this guard.
    pub fn hide(self, call: Call, command: Command) -> (Call, Command) {
        match self {
            Self::Lease => (without_lease(call, &command), command),
            Self::EffectUnique => (without_outcome(call, &command), command),
            Self::AttemptFence => {
                let current = call.attempts();
                (call, as_attempt(command, current))
            }
            Self::Hold => (call, without_hold(command)),
            Self::Fingerprint => {
                let command = as_known(&call, command);
                (call, command)
            }
            Self::Final => (without_end(call, &command), command),
            // These are kept by others than the rules: the store, the worker, who settles, and who sweeps.
            Self::KeyUnique | Self::Version | Self::FixedEffectId | Self::Settled | Self::Sweeper => {
                (call, command)
            }
        }
    }
}

/// A running call looks to a claim as if nobody ran it.
fn without_lease(call: Call, command: &Command) -> Call {
    if let (Call::Running { request, attempt, .. }, Command::Claim(_)) = (&call, command) {
        return Call::Pending { request: request.clone(), attempts: attempt.number, open: None, due: None };
    }
    call
}

/// A call that succeeded looks to a success as if it still ran.
fn without_outcome(call: Call, command: &Command) -> Call {
    if let (Call::Succeeded { request, attempts, .. }, Command::Succeed(_)) = (&call, command) {
        let attempt = Attempt { number: *attempts, side_effect: true };
        return Call::Running {
            request: request.clone(),
            attempt,
            owner: owner("server"),
            lease_until: at(0),
        };
    }
    call
}

/// Whoever reports is taken for the current attempt.
fn as_attempt(mut command: Command, current: u32) -> Command {
    match &mut command {
        Command::Succeed(succeed) => succeed.attempt = current,
        Command::Fail(fail) => fail.attempt = current,
        Command::Recover(recover) => recover.attempt = current,
        Command::Submit(_) | Command::Claim(_) | Command::Retry(_) | Command::Resolve(_) => {}
    }
    command
}

/// Every interrupted attempt is run again.
fn without_hold(mut command: Command) -> Command {
    if let Command::Recover(recover) = &mut command {
        recover.interrupted = Some(Interrupted::Replay);
    }
    command
}

/// Every request looks like the one that the key was taken with.
fn as_known(call: &Call, mut command: Command) -> Command {
    if let (Some(known), Command::Submit(submit)) = (call.request(), &mut command) {
        submit.request = known.clone();
    }
    command
}

/// A call that has failed for good looks to a client's request as if it could be tried again.
fn without_end(mut call: Call, command: &Command) -> Call {
    if let (Call::Failed { error, .. }, Command::Submit(_)) = (&mut call, command) {
        error.retryable = true;
    }
    call
}

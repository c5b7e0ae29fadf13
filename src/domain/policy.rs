//! What a tool lets happen: how long it may run, how often, and what an interrupted attempt means.

use std::time::Duration;

/// How an interrupted attempt of a tool may be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interrupted {
    /// Run again with the same effect id: there is no side effect, or it is recorded in our own transaction, or the
    /// downstream honours the id.
    Replay,
    /// Ask the downstream whether the effect id happened, then decide.
    Probe,
    /// Never run again by itself.
    Hold,
}

/// The terms a call runs under. They come in with each command: what was decided by them is in the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Whether a success owes an effect.
    pub side_effect: bool,
    /// What an interrupted attempt means.
    pub interrupted: Interrupted,
    /// How long an attempt may run; always shorter than the lease.
    pub time_limit: Duration,
    /// How long a claim keeps all others away.
    pub lease: Duration,
    /// How many attempts a call may have.
    pub max_attempts: u32,
}

/// The default lease: three times the longest sample tool.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);
/// The default time limit: leaves a sixth of the lease for recording the outcome.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(25);
/// The default number of attempts: enough to outlast a deployment, few enough to stop a call that kills its process.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 20;

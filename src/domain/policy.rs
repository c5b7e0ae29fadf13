//! What a tool lets happen: how long it may run, how often, and what an interrupted attempt means.

use std::time::Duration;

use super::backoff::Backoff;
use super::time::Timestamp;

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

/// How the server itself tries calls of a tool again that failed and may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// The waits between attempts.
    pub backoff: Backoff,
    /// How long after a call was accepted its last attempt may begin.
    pub budget: Duration,
}

impl Retries {
    /// When the attempt after `attempt`, which failed at `at`, is due; nothing if that is beyond the budget of a call that was
    /// accepted at `created_at`. `chance` in `[0, 1)` spreads the wait, and `longer` is what the downstream asked for.
    pub fn due(
        &self,
        created_at: Timestamp,
        at: Timestamp,
        attempt: u32,
        chance: f64,
        longer: Option<Duration>,
    ) -> Option<Timestamp> {
        let wait = self.backoff.wait(attempt, chance).saturating_add(longer.unwrap_or_default());
        let due = at.plus(wait);
        (due <= created_at.plus(self.budget)).then_some(due)
    }
}

/// The default lease: three times the longest sample tool.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);
/// The default time limit: leaves a sixth of the lease for recording the outcome.
pub const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(25);
/// The default number of attempts: enough to outlast a deployment, few enough to stop a call that kills its process.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 20;

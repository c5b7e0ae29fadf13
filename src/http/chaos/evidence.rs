//! What became of each request, told once nothing more can happen to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// One request, as both sides saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Its number, from 1, in the order in which the heads arrived.
    pub request: u64,
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// Its `Idempotency-Key`, as it came.
    pub key: Option<String>,
    /// What was done to it.
    pub mode: &'static str,
    /// How many copies were sent to upstream. Each may have been executed, answered or not.
    pub sent: u32,
    /// The statuses that upstream answered with, in the order in which they came.
    pub upstream: Vec<u16>,
    /// What the client was given.
    pub client: Given,
    /// The status that the client was given, if it was given one.
    pub status: Option<u16>,
    /// How many bytes of a body the client was given.
    pub bytes: u64,
    /// What went wrong that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// From the head of the request to the end of all this.
    pub elapsed_ms: u64,
}

/// How a request ended for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Given {
    /// A whole answer.
    Answer,
    /// An answer whose body ends too early.
    Truncated,
    /// A connection that was closed without an answer.
    Closed,
    /// A connection that was reset.
    Reset,
    /// Nothing, or not all: it left before.
    GaveUp,
    /// Nothing, or not all: the proxy was stopped.
    Stopped,
}

/// What a proxy cannot do itself: look at a clock, and tell somebody.
pub trait Witness: Send + Sync + 'static {
    /// The time since some moment that stays the same.
    fn elapsed(&self) -> Duration;
    /// A request has ended.
    fn tell(&self, evidence: Evidence);
}

/// Evidence that is being gathered. It is told when the last who knows about its request has dropped it.
pub(super) struct Record<W: Witness> {
    witness: Arc<W>,
    since: Duration,
    stop: CancellationToken,
    known: Mutex<Known>,
}

struct Known {
    evidence: Evidence,
    given: Option<Given>,
}

impl<W: Witness> Record<W> {
    /// Begins with what the head of a request says.
    pub(super) fn begin(evidence: Evidence, witness: Arc<W>, stop: CancellationToken) -> Arc<Self> {
        let (since, known) = (witness.elapsed(), Mutex::new(Known { evidence, given: None }));
        Arc::new(Self { witness, since, stop, known })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy is on its way.
    pub(super) fn sends(&self) {
        self.known().evidence.sent += 1;
    }

    /// A copy that was to be on its way never left.
    pub(super) fn was_not_sent(&self) {
        self.known().evidence.sent -= 1;
    }

    pub(super) fn answered(&self, status: u16) {
        self.known().evidence.upstream.push(status);
    }

    /// The first problem counts: the others follow from it.
    pub(super) fn went_wrong(&self, problem: impl Into<String>) {
        self.known().evidence.problem.get_or_insert_with(|| problem.into());
    }

    pub(super) fn giving(&self, status: u16) {
        self.known().evidence.status = Some(status);
    }

    /// Whether an answer has begun.
    pub(super) fn is_giving(&self) -> bool {
        self.known().evidence.status.is_some()
    }

    pub(super) fn gave_bytes(&self, bytes: usize) {
        self.known().evidence.bytes += bytes as u64;
    }

    /// The first end counts.
    pub(super) fn gave(&self, given: Given) {
        self.known().given.get_or_insert(given);
    }

    /// The client's connection has ended, and not because of us, unless we are stopped. Noted when it happens: upstream may
    /// be waited for until long after that.
    pub(super) fn left(&self) {
        self.gave(if self.stop.is_cancelled() { Given::Stopped } else { Given::GaveUp });
    }
}

impl<W: Witness> Drop for Record<W> {
    fn drop(&mut self) {
        let elapsed = self.witness.elapsed().saturating_sub(self.since);
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut evidence = known.evidence.clone();
        evidence.client = known.given.unwrap_or(evidence.client);
        evidence.elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.witness.tell(evidence);
    }
}

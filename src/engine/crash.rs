//! Named points at which a process can be told to die, or a worker to stall, to show that this loses and doubles nothing.
//!
//! Armed only by `serve --chaos` and in tests; otherwise a point costs one look at an empty option.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Every point, in the order in which a call passes them. Those that begin with `store.` lie inside the writer, which
/// writes for many calls at once; `store.between_calls_and_audit` also exists for each kind of event.
pub const POINTS: [&str; 19] = [
    "store.migrate",
    "submit.before_append",
    "store.after_begin",
    "store.between_calls_and_audit",
    "store.between_calls_and_audit.created",
    "store.between_calls_and_audit.claimed",
    "store.between_calls_and_audit.succeeded",
    "store.between_calls_and_audit.failed",
    "store.between_calls_and_audit.retry_reset",
    "store.between_calls_and_audit.recover",
    "store.before_commit",
    "store.after_commit",
    "store.before_answer",
    "submit.after_append",
    "worker.before_claim",
    "worker.after_claim",
    "worker.after_tool",
    "worker.after_commit",
    "recover.after_append",
];

/// Points of commands that work on a stopped server's file.
pub const OFFLINE_POINTS: [&str; 1] = ["rebuild.half_way"];

/// The args member that kills the process after the call's outcome is committed.
pub const CRASH_AFTER_COMMIT: &str = "_crash_after_commit";
/// The args member that kills the process after the tool ran, before its outcome is committed.
pub const CRASH_BEFORE_COMMIT: &str = "_crash_before_commit";
/// The args member that keeps the first attempt from reporting until a newer one has begun, as a worker that is stopped
/// for longer than its lease.
pub const STALL_BEFORE_REPORT: &str = "_stall_before_report";

/// All of these members; each is refused by a server that is not armed.
pub const MEMBERS: [&str; 3] = [CRASH_AFTER_COMMIT, CRASH_BEFORE_COMMIT, STALL_BEFORE_REPORT];

/// Where to die.
#[derive(Debug, Clone, Default)]
pub struct CrashPoints(Option<Arc<Armed>>);

#[derive(Debug, Default)]
struct Armed {
    /// How often each point is still passed before it kills; zero is dead.
    countdown: HashMap<String, AtomicU64>,
}

/// A crash point that does not exist, or a count that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not POINT or POINT:N with N from 1; the points are {}, {}", POINTS.join(", "), OFFLINE_POINTS.join(", "))]
pub struct UnknownPoint {
    given: String,
}

impl CrashPoints {
    /// Armed, but with no point set: only calls whose args ask for it kill the process.
    pub fn armed() -> Self {
        Self(Some(Arc::default()))
    }

    /// Armed to die at `POINT`, or the `N`th time it is passed with `POINT:N`.
    ///
    /// # Errors
    /// [`UnknownPoint`] if there is no such point.
    pub fn parse(text: &str) -> Result<Self, UnknownPoint> {
        let unknown = || UnknownPoint { given: text.into() };
        let (point, count) = match text.split_once(':') {
            Some((point, count)) => (point, count.parse().map_err(|_| unknown())?),
            None => (text, 1),
        };
        if !POINTS.contains(&point) && !OFFLINE_POINTS.contains(&point) || count == 0 {
            return Err(unknown());
        }
        let countdown = HashMap::from([(point.to_string(), AtomicU64::new(count))]);
        Ok(Self(Some(Arc::new(Armed { countdown }))))
    }

    /// Whether calls may ask for a crash in their args.
    pub fn is_armed(&self) -> bool {
        self.0.is_some()
    }

    /// Whether something is to happen between the claim of a call and its outcome: at a point that is set, or because the
    /// call asks for it itself.
    pub fn parts_claim_from_outcome(&self, asked: impl FnOnce() -> bool) -> bool {
        self.0.as_ref().is_some_and(|armed| {
            asked()
                || ["worker.after_claim", "worker.after_tool"]
                    .iter()
                    .any(|point| armed.countdown.contains_key(*point))
        })
    }

    /// Dies here, if this point is set and its count is up.
    pub fn pass(&self, point: &str) {
        if let Some(armed) = &self.0
            && let Some(left) = armed.countdown.get(point)
            && left.fetch_sub(1, Ordering::SeqCst) == 1
        {
            die(point);
        }
    }

    /// Dies here, if the call's args asked for it; only an armed server looks.
    pub fn pass_if(&self, asked: impl FnOnce() -> bool, point: &str) {
        if self.is_armed() && asked() {
            die(point);
        }
        self.pass(point);
    }
}

/// Ends the process as `kill -9` does: no destructor, no flush, no goodbye.
fn die(point: &str) {
    eprintln!("callonce: killed at crash point {point}");
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort();
}

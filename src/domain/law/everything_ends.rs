//! L8: once faults stop, every accepted call whose tool is configured becomes final, failed-retryable or held, within its
//! lease, its run time and some seconds of its turn.
//!
//! Enforced by time limits that are shorter than leases, by the sweep that gives up attempts whose lease is over, by the
//! feed that finds what memory forgot, and by the bound on attempts. Source: `docs/laws.md`.
//!
//! Data at one instant shows one thing: an attempt whose lease is over for longer than any sweep takes is one that nobody
//! will ever give up. How long a pending call waits for its turn depends on what else there is to do; that it comes at all,
//! tests of the server show.

use std::time::Duration;

use super::{Facts, Law, Violation};
use crate::domain::call::Call;

/// How long after its lease an attempt may still be running: a sweep comes by every 200 ms, the rest is for a machine that
/// has much else to do.
pub const GRACE: Duration = Duration::from_secs(5);

/// Where a server is at work, no attempt runs on after its lease.
pub fn check(facts: &Facts<'_>) -> Vec<Violation> {
    let history = facts.history;
    match (history.last(), facts.now) {
        (Call::Running { attempt, lease_until, .. }, Some(now)) if lease_until.plus(GRACE) < now => {
            let over = now.since(*lease_until).as_secs();
            let problem =
                format!("attempt {} is running, and its lease has been over for {over} s", attempt.number);
            let violation = Violation::new(Law::EverythingEnds, "lease_until", problem);
            vec![violation.of(history.call_id()).at(history.version())]
        }
        (
            Call::Absent
            | Call::Pending { .. }
            | Call::Running { .. }
            | Call::Held { .. }
            | Call::Succeeded { .. }
            | Call::Failed { .. },
            _,
        ) => vec![],
    }
}

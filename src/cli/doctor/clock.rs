//! Can the wall clock be right? Safety never asks it, so nothing here is worse than a warning: a wrong clock costs waiting,
//! or an attempt.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use super::check::Check;
use crate::domain::time::Timestamp;
use crate::engine::clock::{Clock, Stopwatch};

const NAME: &str = "clock";
/// 2026-01-01: this program is younger.
const TOO_EARLY: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);
/// 2100-01-01: a machine that shows it has no clock.
const TOO_LATE: Timestamp = Timestamp::from_micros(4_102_444_800_000_000);
/// What a clock that is kept right by the network may be behind the one that stamped the last event.
const BEHIND: Duration = Duration::from_secs(1);
/// How far the wall clock may go apart from the one that never jumps, while this looks: slewing is far below it.
const APART: Duration = Duration::from_millis(100);

/// Watches both clocks from now on.
pub(super) struct Watched {
    began: Timestamp,
    watch: Stopwatch,
}

impl Watched {
    pub(super) fn begin() -> Self {
        Self { began: Clock::System.now(), watch: Stopwatch::start() }
    }

    /// What came of it, where the last event has this time.
    pub(super) fn check(&self, last_event: Option<Timestamp>) -> Check {
        let now = Clock::System.now();
        let apart = now.since(self.began.plus(self.watch.elapsed()));
        let back = self.began.plus(self.watch.elapsed()).since(now);
        judge(now, last_event, apart.max(back))
    }
}

fn judge(now: Timestamp, last_event: Option<Timestamp>, apart: Duration) -> Check {
    let shown = rfc3339(now);
    let set_it = "set the clock, and keep it right by NTP; until then leases and due times may come late or early, but no \
                  effect is lost or doubled";
    if !(TOO_EARLY..TOO_LATE).contains(&now) {
        return Check::warning(NAME, format!("it shows {shown}, which cannot be"), set_it);
    }
    if apart > APART {
        let found = format!("it was moved by {apart:.1?} while this looked; it shows {shown}");
        return Check::warning(NAME, found, set_it);
    }
    match last_event {
        Some(last) if last.since(now) > BEHIND => {
            let found = format!("it shows {shown}, but the last event is from {}", rfc3339(last));
            Check::warning(NAME, found, set_it)
        }
        Some(last) => Check::ok(
            NAME,
            format!("it shows {shown}, after the last event ({}), and runs evenly", rfc3339(last)),
        ),
        None => Check::ok(NAME, format!("it shows {shown}, and runs evenly")),
    }
}

/// A time of a damaged or foreign file may be beyond the years that RFC 3339 can write.
fn rfc3339(at: Timestamp) -> String {
    let mut text = String::new();
    match write!(text, "{}", humantime::format_rfc3339_seconds(SystemTime::from(at))) {
        Ok(()) => text,
        Err(_) => "a time after the year 9999".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::State;

    #[test]
    fn a_clock_that_cannot_be_right_is_warned_of() {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        let second = Duration::from_secs(1);
        for (now, last, apart, state) in [
            (now, None, Duration::ZERO, State::Ok),
            (now, Some(now), APART, State::Ok),
            (now, Some(now.plus(second)), Duration::ZERO, State::Ok),
            (now, Some(now.plus(second * 2)), Duration::ZERO, State::Warning),
            (now, None, APART * 2, State::Warning),
            (Timestamp::from_micros(0), None, Duration::ZERO, State::Warning),
            (Timestamp::from_micros(i64::MAX / 2), None, Duration::ZERO, State::Warning),
        ] {
            let check = judge(now, last, apart);
            assert_eq!(check.state, state, "{check:?}");
        }
    }
}

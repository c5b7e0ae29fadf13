//! When does the next request start? As soon as a connection is free (closed loop), or when the clock says so (open loop).

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::cli::config::duration;
use crate::engine::clock::Stopwatch;

/// How long after the end of an open loop its last requests may still start: all that were due, where the server keeps up.
const GRACE: Duration = Duration::from_millis(500);

/// When a load ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// After so many requests.
    Count(u64),
    /// After this time.
    Time(Duration),
}

impl Limit {
    /// A number of requests, or a duration with a unit.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<u64>() {
            Ok(0) => Err("it is zero; leave the option out for none".into()),
            Ok(count) => Ok(Self::Count(count)),
            Err(_) => duration(text).map(Self::Time),
        }
    }
}

/// Starts requests, at most as many as the limit says.
pub(super) struct Schedule {
    watch: Stopwatch,
    limit: Limit,
    pace: Option<Pace>,
    started: Cell<u64>,
    over: Cell<bool>,
}

/// An open loop: requests are due by the clock, whether or not earlier ones are answered.
struct Pace {
    per_second: u64,
    total: u64,
    /// One permit for each request that is due and not started.
    due: Arc<Semaphore>,
}

impl Schedule {
    /// Begins now.
    pub(super) fn start(limit: Limit, per_second: Option<u64>) -> Self {
        let watch = Stopwatch::start();
        let pace = per_second.map(|per_second| {
            let total = match limit {
                Limit::Count(count) => count,
                Limit::Time(time) => due_within(per_second, time),
            };
            let due = Arc::new(Semaphore::new(0));
            let released = due.clone();
            std::thread::spawn(move || metronome(watch, per_second, total, &released));
            Pace { per_second, total, due }
        });
        Self { watch, limit, pace, started: Cell::new(0), over: Cell::new(false) }
    }

    /// Waits until a request may start. Returns when it was due, or nothing when there is no further one.
    pub(super) async fn next(&self) -> Option<Duration> {
        let Some(pace) = &self.pace else {
            let now = self.watch.elapsed();
            let goes_on = !self.over.get()
                && match self.limit {
                    Limit::Count(count) => self.started.get() < count,
                    Limit::Time(time) => now < time,
                };
            return goes_on.then(|| {
                self.started.set(self.started.get() + 1);
                now
            });
        };
        pace.due.acquire().await.ok()?.forget();
        let number = self.started.get();
        let is_late = match self.limit {
            Limit::Count(_) => false,
            Limit::Time(time) => self.watch.elapsed() > time + GRACE,
        };
        if number == pace.total || is_late {
            self.stop();
            return None;
        }
        self.started.set(number + 1);
        if number + 1 == pace.total {
            // Nothing else will ever be due: whoever waits for it may go.
            self.stop();
        }
        Some(due_at(pace.per_second, number))
    }

    /// Starts nothing any more.
    pub(super) fn stop(&self) {
        self.over.set(true);
        if let Some(pace) = &self.pace {
            pace.due.close();
        }
    }

    /// How long ago it began.
    pub(super) fn elapsed(&self) -> Duration {
        self.watch.elapsed()
    }

    /// Requests that were due and never started, because the server did not keep up.
    pub(super) fn unsent(&self) -> u64 {
        self.pace.as_ref().map_or(0, |pace| pace.total - self.started.get())
    }
}

/// When request `number` is due, counted from 0.
fn due_at(per_second: u64, number: u64) -> Duration {
    let nanos = u128::from(number) * 1_000_000_000 / u128::from(per_second);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// How many requests are due before `time` has passed, the first one at once.
fn due_within(per_second: u64, time: Duration) -> u64 {
    let due = (time.as_nanos() * u128::from(per_second)).div_ceil(1_000_000_000);
    u64::try_from(due).unwrap_or(u64::MAX)
}

/// Releases each request when it is due. A thread of its own, because the timers of the runtime tick in milliseconds.
fn metronome(watch: Stopwatch, per_second: u64, total: u64, due: &Semaphore) {
    let mut released = 0;
    while released < total && !due.is_closed() {
        let now = watch.elapsed();
        let by_now = due_within(per_second, now).max(1).min(total);
        if by_now > released {
            let more = usize::try_from(by_now - released).unwrap_or(usize::MAX);
            let room = Semaphore::MAX_PERMITS - due.available_permits();
            due.add_permits(more.min(room));
            released += more.min(room) as u64;
        }
        std::thread::sleep(due_at(per_second, released).saturating_sub(watch.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_a_time() {
        assert_eq!(Limit::parse("100"), Ok(Limit::Count(100)));
        assert_eq!(Limit::parse("2s"), Ok(Limit::Time(Duration::from_secs(2))));
        for nonsense in ["0", "0s", "-1", "", "many"] {
            assert!(Limit::parse(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn requests_are_due_at_equal_distances() {
        assert_eq!(due_at(4, 0), Duration::ZERO);
        assert_eq!(due_at(4, 3), Duration::from_millis(750));
        assert_eq!(due_at(3, 3_000_000), Duration::from_secs(1_000_000));
        for (within, count) in [(0, 0), (1, 1), (250, 1), (251, 2), (1000, 4)] {
            assert_eq!(due_within(4, Duration::from_millis(within)), count, "{within} ms");
        }
    }
}

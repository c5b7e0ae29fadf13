//! What was measured: latencies, answers by kind, retries and errors by code.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Three digits of each latency are kept: a thousandth is finer than any two runs agree.
const DIGITS: u8 = 3;
/// The longest latency that can be told, in microseconds: an hour. A longer one is told as this.
const LONGEST: u64 = 3_600_000_000;

/// How a request ended, all its retries included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Answered with the call.
    Accepted,
    /// Nothing was written, and the same key may try again.
    NotTaken,
    /// The request itself is wrong, and so would be every other one.
    Refused,
    /// The key is said to belong to another request.
    Conflict,
    /// Nobody knows.
    Unknown,
}

/// The sums of one phase.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    /// Of accepted requests, in microseconds: from when they were due to the end of their last answer.
    pub(super) latency: Histogram<u64>,
    pub(super) accepted: u64,
    pub(super) not_taken: u64,
    pub(super) refused: u64,
    pub(super) conflicts: u64,
    pub(super) unknown: u64,
    /// Accepted requests that were answered by what was there already.
    pub(super) replayed: u64,
    /// Answers that were to wait for the call and came before it had settled.
    pub(super) unsettled: u64,
    /// Requests that were due and never started.
    pub(super) unsent: u64,
    /// Times that a request was sent again, by what happened to it before.
    pub(super) retries: BTreeMap<String, u64>,
    /// Requests that were not accepted in the end, by the code of their last answer.
    pub(super) errors: BTreeMap<String, u64>,
    /// What the first answer that refused a request says.
    pub(super) refusal: Option<String>,
    /// Keys of an earlier phase, which may come again in this one.
    pub(super) keys_before: u64,
    /// Keys that were sent for the first time.
    pub(super) keys_made: u64,
    /// Keys that a server took for the first time.
    pub(super) keys_acknowledged: u64,
    /// Answers that named another call than an earlier answer to the same key.
    pub(super) second_calls: u64,
    /// From the beginning to the last answer.
    pub(super) wall: Duration,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            latency: Histogram::new_with_max(LONGEST, DIGITS).expect("so many digits can be kept"),
            accepted: 0,
            not_taken: 0,
            refused: 0,
            conflicts: 0,
            unknown: 0,
            replayed: 0,
            unsettled: 0,
            unsent: 0,
            retries: BTreeMap::new(),
            errors: BTreeMap::new(),
            refusal: None,
            keys_before: 0,
            keys_made: 0,
            keys_acknowledged: 0,
            second_calls: 0,
            wall: Duration::ZERO,
        }
    }

    /// Requests that came to an end.
    pub(super) fn ended(&self) -> u64 {
        self.accepted + self.not_taken + self.refused + self.conflicts + self.unknown
    }

    /// An accepted request took `latency` and ended at `now`.
    pub(super) fn accept(&mut self, latency: Duration, now: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.latency.saturating_record(micros.max(1));
        self.accepted += 1;
        self.wall = self.wall.max(now);
    }

    /// A request ended at `now` and was not accepted.
    pub(super) fn give_up(&mut self, ending: Ending, code: String, now: Duration) {
        let count = match ending {
            Ending::Accepted => unreachable!("an accepted request is not given up"),
            Ending::NotTaken => &mut self.not_taken,
            Ending::Refused => &mut self.refused,
            Ending::Conflict => &mut self.conflicts,
            Ending::Unknown => &mut self.unknown,
        };
        *count += 1;
        *self.errors.entry(code).or_default() += 1;
        self.wall = self.wall.max(now);
    }

    /// A request is sent again, because of this.
    pub(super) fn retry(&mut self, code: String) {
        *self.retries.entry(code).or_default() += 1;
    }

    /// So many a second.
    pub(super) fn accepted_per_second(&self) -> f64 {
        per_second(self.accepted, self.wall)
    }
}

/// So many in this time, by the second; 0 where no time passed.
pub(super) fn per_second(count: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_of_any_length_are_told_as_they_are() {
        let mut tally = Tally::new();
        for millis in [1, 30, 5000, 3_600_000, 7_200_000] {
            tally.accept(Duration::from_millis(millis), Duration::from_millis(millis));
        }
        for (quantile, micros) in
            [(0.2, 1000), (0.4, 30_000), (0.6, 5_000_000), (0.8, LONGEST), (1.0, LONGEST)]
        {
            let told = tally.latency.value_at_quantile(quantile);
            assert!((micros..=micros + micros / 1000).contains(&told), "{quantile}: {told} for {micros}");
        }
        assert_eq!((tally.accepted, tally.ended()), (5, 5));
        assert_eq!(tally.wall, Duration::from_secs(7200));
    }
}

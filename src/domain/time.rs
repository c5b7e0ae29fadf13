//! Instants as whole microseconds. There is no `now()`: time is an argument.

use std::time::{Duration, SystemTime};

/// An instant of the wall clock: microseconds since 1970-01-01T00:00:00Z.
///
/// Only compared, stored and shown; no safety rule depends on it being right (a wrong clock costs waiting or an
/// attempt, never an effect).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Seconds since the epoch, as the tables hold them; exact to the microsecond for several thousand years.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// From the seconds of a table's column: the inverse of [`Timestamp::as_seconds`].
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e6).round() as i64)
    }

    /// This instant moved later; stays at the far end of time instead of overflowing.
    pub fn plus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// How long this is after `earlier`; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(at: Timestamp) -> Self {
        Self::UNIX_EPOCH + Duration::from_micros(u64::try_from(at.0).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_keep_every_microsecond() {
        for micros in [0, 1, 1_764_560_000_123_456, 1_764_560_000_999_999, 4_102_444_799_999_999, -1] {
            let at = Timestamp::from_micros(micros);
            assert_eq!(Timestamp::from_seconds(at.as_seconds()), at, "{micros} µs");
        }
    }

    #[test]
    fn arithmetic_stays_in_range() {
        let far = Timestamp::from_micros(i64::MAX);
        assert_eq!(far.plus(Duration::MAX), far);
        assert_eq!(Timestamp::from_micros(5).since(far), Duration::ZERO);
    }
}

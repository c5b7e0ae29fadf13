//! The only file that reads a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::domain::time::Timestamp;

/// Where instants come from.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's wall clock, which may jump either way.
    #[default]
    System,
    /// A clock that somebody sets by hand.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `at` until it is set.
    pub fn manual(at: Timestamp) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(at.as_micros())))
    }

    /// Moves a manual clock; the machine's clock is never set.
    pub fn set(&self, at: Timestamp) {
        match self {
            Self::System => {}
            Self::Manual(micros) => micros.store(at.as_micros(), Ordering::SeqCst),
        }
    }

    /// What it shows.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => {
                let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
            }
            Self::Manual(micros) => Timestamp::from_micros(micros.load(Ordering::SeqCst)),
        }
    }
}

/// Measures how long something takes; never jumps.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins to measure.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads a clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long ago it was started.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

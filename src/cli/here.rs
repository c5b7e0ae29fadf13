//! The machine a command runs on, as a careful client sees it.

use std::time::Duration;

use crate::domain::time::Timestamp;
use crate::engine::clock::{Clock, Stopwatch};
use crate::engine::ids;
use crate::http::client::{Surroundings, Try};

/// The machine's clock and dice, and somebody who hears of every try.
pub(super) struct Here<F> {
    since_start: Stopwatch,
    tell: F,
}

impl<F: FnMut(&Try)> Here<F> {
    pub(super) fn telling(tell: F) -> Self {
        Self { since_start: Stopwatch::start(), tell }
    }
}

impl<F: FnMut(&Try)> Surroundings for Here<F> {
    fn now(&mut self) -> Timestamp {
        Clock::System.now()
    }

    fn uptime(&mut self) -> Duration {
        self.since_start.elapsed()
    }

    fn chance(&mut self) -> f64 {
        ids::chance()
    }

    fn tried(&mut self, tried: &Try) {
        (self.tell)(tried);
    }
}

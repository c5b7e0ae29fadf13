//! What a client is given because it cannot make it: time, chance, and somebody to tell.

use std::time::Duration;

use super::{Answer, Trouble};
use crate::domain::id::IdemKey;
use crate::domain::time::Timestamp;

/// Where a client lives. All of it is handed in, so that a test or a simulation can decide what it is.
pub trait Surroundings {
    /// The time of day, for a `Retry-After` that is a date.
    fn now(&mut self) -> Timestamp;
    /// How long it has been since any fixed instant; never jumps.
    fn uptime(&mut self) -> Duration;
    /// A number in `[0, 1)`, drawn anew each time.
    fn chance(&mut self) -> f64;
    /// Hears of every try once it has ended, before the pause that follows it.
    fn tried(&mut self, tried: &Try);
}

/// One time that a call was sent, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try {
    /// Counts from 1.
    pub number: u32,
    /// The key it was sent with.
    pub key: IdemKey,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// Why there was no answer.
    pub error: Option<String>,
    /// Whether anything can have left this machine.
    pub was_sent: bool,
    /// How long it took.
    pub elapsed: Duration,
    /// After what pause it is sent again; none if it is not.
    pub pause: Option<Duration>,
}

impl Try {
    /// The try that ended like this.
    pub fn of(
        number: u32,
        key: &IdemKey,
        sent: &Result<Answer, Trouble>,
        elapsed: Duration,
        pause: Option<Duration>,
    ) -> Self {
        let (status, error) = match sent {
            Ok(answer) | Err(Trouble::Busy(answer)) => (Some(answer.status), None),
            Err(Trouble::NotSent(error) | Trouble::Lost(error)) => (None, Some(error.to_string())),
        };
        let was_sent = sent.as_ref().map_or_else(Trouble::was_sent, |_| true);
        Self { number, key: key.clone(), status, error, was_sent, elapsed, pause }
    }
}

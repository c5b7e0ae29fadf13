//! What is sent again, and how long to wait before that.

use std::time::Duration;

use super::{Answer, ClientError};
use crate::domain::backoff::Backoff;
use crate::domain::retry_after::retry_after;
use crate::domain::time::Timestamp;

/// How often and how patiently a call is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often it is sent again after the first time.
    pub retries: u32,
    /// How long one answer may take.
    pub timeout: Duration,
    /// The pauses between tries.
    pub backoff: Backoff,
    /// The longest that a server's `Retry-After` is followed.
    pub longest_retry_after: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            retries: 3,
            // More than a fsync on a bad day takes, and less than a person waits.
            timeout: Duration::from_secs(5),
            // A server that only restarts is back within the first few, and no pause feels like a hang.
            backoff: Backoff { base: Duration::from_millis(100), cap: Duration::from_secs(5) },
            // Ours asks for 5 s at most, and one that asks for hours must not silence a client for hours.
            longest_retry_after: Duration::from_secs(30),
        }
    }
}

impl Retry {
    /// How long to wait after so many failures (from 1) of which this is the last: what the server asks for, and on top of
    /// it a backoff with full jitter, so that the clients it turned away do not return together.
    pub fn pause(&self, trouble: &Trouble, failures: u32, now: Timestamp, chance: f64) -> Duration {
        let asked = match trouble {
            Trouble::Busy(answer) => answer.retry_after.as_deref().and_then(|text| retry_after(text, now)),
            Trouble::NotSent(_) | Trouble::Lost(_) => None,
        };
        asked.unwrap_or_default().min(self.longest_retry_after) + self.backoff.wait(failures, chance)
    }
}

/// Why a request is worth sending again.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Nothing was sent.
    #[error("{0}")]
    NotSent(ClientError),
    /// It may have arrived.
    #[error("{0}")]
    Lost(ClientError),
    /// It arrived at a server, or at something before it, that had no time for it: 429 or 503.
    #[error("the server has no time for it ({})", .0.status)]
    Busy(Answer),
}

impl Trouble {
    /// An answer that counts, or why there is none yet. Only 429 and 503 say that asking again can help.
    pub fn sort(asked: Result<Answer, ClientError>) -> Result<Answer, Self> {
        match asked {
            Ok(answer) if matches!(answer.status, 429 | 503) => Err(Self::Busy(answer)),
            Ok(answer) => Ok(answer),
            Err(error @ ClientError::Unknown { .. }) => Err(Self::Lost(error)),
            Err(error @ (ClientError::Unreachable { .. } | ClientError::Invalid(_))) => {
                Err(Self::NotSent(error))
            }
        }
    }

    /// Whether anything can have left this machine.
    pub fn was_sent(&self) -> bool {
        match self {
            Self::NotSent(_) => false,
            Self::Lost(_) | Self::Busy(_) => true,
        }
    }

    /// Whether the server may have accepted it.
    pub fn may_be_accepted(&self) -> bool {
        match self {
            Self::NotSent(_) => false,
            Self::Lost(_) => true,
            // Too many requests are refused before they are looked at; an unavailable server may have got half way.
            Self::Busy(answer) => answer.status == 503,
        }
    }

    /// Whether sending the same again can end otherwise.
    pub fn may_pass(&self) -> bool {
        !matches!(self, Self::NotSent(ClientError::Invalid(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const NOW: Timestamp = Timestamp::from_micros(784_111_777_000_000);

    fn busy(retry_after: Option<&str>) -> Trouble {
        let retry_after = retry_after.map(str::to_owned);
        let answer = Answer { status: 503, retry_after, body: String::new() };
        Trouble::sort(Ok(answer)).expect_err("a 503 is sent again")
    }

    #[test]
    fn a_pause_is_what_the_server_asks_for_and_a_bounded_backoff() {
        let millis = |trouble: &Trouble, failures, chance| {
            Retry::default().pause(trouble, failures, NOW, chance).as_millis()
        };
        let plain = busy(None);
        let ceilings: Vec<_> = (1..=8).map(|failures| millis(&plain, failures, 1.0)).collect();
        assert_eq!(ceilings, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(millis(&plain, u32::MAX, 1.0), 5000);
        assert_eq!((millis(&plain, 3, 0.0), millis(&plain, 3, 0.5)), (0, 200));
        // Never sooner than asked, however the dice fall.
        assert_eq!((millis(&busy(Some("2")), 1, 0.0), millis(&busy(Some("2")), 1, 1.0)), (2000, 2100));
        assert_eq!(millis(&busy(Some("Sun, 06 Nov 1994 08:49:40 GMT")), 1, 0.0), 3000);
        for long in ["31", "86400", "99999999999999999999999", "Mon, 07 Nov 1994 08:49:37 GMT"] {
            assert_eq!(millis(&busy(Some(long)), 1, 0.0), 30_000, "{long}");
        }
        assert_eq!(millis(&busy(Some("soon")), 1, 1.0), 100);
    }

    #[test]
    fn only_429_and_503_of_all_answers_are_sent_again() {
        for status in 100..=599 {
            let answer = Answer { status, retry_after: Some("1".into()), body: String::new() };
            assert_eq!(Trouble::sort(Ok(answer)).is_err(), matches!(status, 429 | 503), "{status}");
        }
    }
}

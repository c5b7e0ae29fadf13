//! What the server says it holds, before and after: the calls, effects and attempts that a load added.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::cli::exit::Failure;
use crate::cli::source::refusal;
use crate::engine::clock::Stopwatch;
use crate::http::client::{Ask, Client, object};

/// How long one look may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Between two looks: short beside a load, long beside what a look costs the server.
const PAUSE: Duration = Duration::from_millis(10);

/// What `GET /stats` says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Counters {
    calls: u64,
    effects: u64,
    by_status: BTreeMap<String, u64>,
    attempts: BTreeMap<u32, u64>,
    held: u64,
}

/// What came to be between two looks. A number is negative where something became less.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) calls: i64,
    pub(super) effects: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) held: i64,
    /// Neither settled nor held.
    pub(super) open: i64,
    /// Calls by their number of attempts.
    pub(super) attempts: BTreeMap<u32, i64>,
}

impl Counters {
    /// Asks the server.
    pub(super) async fn of(client: &Client) -> Result<Self, Failure> {
        let answer = client.ask(Ask::get("/stats"), TIMEOUT).await?;
        if answer.status != 200 {
            return Err(refusal(&answer));
        }
        Ok(object(&answer.body)?)
    }

    /// Looks until no call is open any more, or `patience` is over, and returns the last look.
    pub(super) async fn settled(client: &Client, patience: Duration) -> Result<Self, Failure> {
        let watch = Stopwatch::start();
        loop {
            let counters = Self::of(client).await?;
            if counters.open() == 0 || watch.elapsed() >= patience {
                return Ok(counters);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Calls that still go on by themselves: those that are held do not.
    pub(super) fn open(&self) -> u64 {
        (self.status("pending") + self.status("running")).saturating_sub(self.held)
    }

    fn status(&self, name: &str) -> u64 {
        self.by_status.get(name).copied().unwrap_or_default()
    }

    /// What came to be since `before`.
    pub(super) fn since(&self, before: &Self) -> Growth {
        let grown = |now: u64, then: u64| now.cast_signed() - then.cast_signed();
        let status = |name| grown(self.status(name), before.status(name));
        let mut attempts: BTreeMap<u32, i64> = BTreeMap::new();
        for (number, calls) in &self.attempts {
            *attempts.entry(*number).or_default() += calls.cast_signed();
        }
        for (number, calls) in &before.attempts {
            *attempts.entry(*number).or_default() -= calls.cast_signed();
        }
        attempts.retain(|_, calls| *calls != 0);
        Growth {
            calls: grown(self.calls, before.calls),
            effects: grown(self.effects, before.effects),
            succeeded: status("succeeded"),
            failed: status("failed"),
            held: grown(self.held, before.held),
            open: grown(self.open(), before.open()),
            attempts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(json: &str) -> Counters {
        serde_json::from_str(json).expect("it is what a server says")
    }

    #[test]
    fn the_growth_is_what_came_to_be() {
        let before = counters(
            r#"{"calls":5,"effects":2,"by_status":{"succeeded":2,"pending":1,"running":2},
                "attempts":{"0":1,"1":4},"held":1,"position":9}"#,
        );
        let after = counters(
            r#"{"calls":9,"effects":5,"by_status":{"succeeded":6,"failed":1,"running":2},
                "attempts":{"1":6,"2":3},"held":2}"#,
        );
        assert_eq!((before.open(), after.open()), (2, 0));
        let attempts = BTreeMap::from([(0, -1), (1, 2), (2, 3)]);
        let growth = Growth { calls: 4, effects: 3, succeeded: 4, failed: 1, held: 1, open: -2, attempts };
        assert_eq!(after.since(&before), growth);
        assert_eq!(after.since(&after), Growth::default());
    }
}

//! Brings calls from the store to their lane: what a crash left pending, what came due, what memory had no room for.

use std::sync::Arc;
use std::time::Duration;

use super::observe::Access;
use super::pool::{Lane, Offer};
use super::{Engine, StoreError};
use crate::store::{DueCursor, Store};

/// How often the store is looked at while nothing asks for it: soon enough for a person, seldom enough to cost nothing.
const EVERY: Duration = Duration::from_millis(200);
/// How many calls are read at once: few enough for a short transaction.
const PAGE: usize = 256;

impl<S: Store> Engine<S> {
    /// Feeds one lane until the engine stops. An error of the store is noted and the next turn tries again.
    pub(super) async fn feed(self, lane: Arc<Lane>) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.inner.stop.cancelled() => return,
                () = lane.hungry.notified() => {}
                _ = ticks.tick() => {}
            }
            if lane.has_enough() {
                continue;
            }
            match self.feed_all(&lane).await {
                Ok(()) => self.store_works(Access::Read),
                Err(error) => {
                    self.store_failed(Access::Read, &error);
                    lane.fall_behind();
                }
            }
        }
    }

    /// Offers every due call of the lane's tool, oldest first, until the lane has no room for one.
    async fn feed_all(&self, lane: &Lane) -> Result<(), StoreError> {
        lane.catch_up();
        let mut cursor = DueCursor::default();
        while !self.inner.stop.is_cancelled() {
            let now = self.inner.settings.clock.now();
            let page = self.inner.store.due(&lane.name, now, cursor, PAGE).await?;
            if page.calls.iter().any(|call| self.inner.pool.offer(lane, call) == Offer::Full) {
                lane.fall_behind();
                break;
            }
            match page.next {
                Some(next) => cursor = next,
                None => break,
            }
        }
        Ok(())
    }
}

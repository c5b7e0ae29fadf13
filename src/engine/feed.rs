//! Brings calls from the store to the lanes: what a crash left pending, what came due, what memory had no room for.

use std::time::Duration;

use super::pool::Offer;
use super::{Engine, EngineError};
use crate::store::{DueCursor, Store};

/// How often the store is looked at while nothing asks for it: the seed's rhythm.
const EVERY: Duration = Duration::from_millis(200);
/// How many calls are read at once: few enough for a short transaction.
const PAGE: usize = 256;

impl<S: Store> Engine<S> {
    /// Feeds the lanes until the engine stops. An error of the store is noted and the next turn tries again.
    pub(super) async fn feed(self) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut cursor = DueCursor::default();
        loop {
            tokio::select! {
                biased;
                () = self.inner.stop.cancelled() => return,
                () = self.inner.pool.hungry.notified() => {}
                _ = ticks.tick() => {}
            }
            let fed = match self.inner.pool.catch_up() {
                true => self.feed_everything().await,
                false => self.feed_page(cursor).await.map(|page| cursor = page.next),
            };
            if let Err(EngineError::Store(error)) = fed {
                self.store_failed(&error);
                self.inner.pool.fall_behind();
            }
        }
    }

    /// Offers every due call, oldest first. Stays behind if a lane had no room for one.
    async fn feed_everything(&self) -> Result<(), EngineError> {
        let mut cursor = DueCursor::default();
        loop {
            let page = self.feed_page(cursor).await?;
            if page.full {
                self.inner.pool.fall_behind();
                return Ok(());
            }
            if page.next == DueCursor::default() || self.inner.stop.is_cancelled() {
                return Ok(());
            }
            cursor = page.next;
        }
    }

    /// Offers one page of due calls.
    async fn feed_page(&self, cursor: DueCursor) -> Result<Fed, EngineError> {
        let page = self.inner.store.due(self.inner.settings.clock.now(), cursor, PAGE).await?;
        self.store_works();
        let mut full = false;
        for call in &page.calls {
            full |= self.inner.pool.offer(call) == Offer::Full;
        }
        Ok(Fed { next: page.next.unwrap_or_default(), full })
    }
}

struct Fed {
    /// Where to go on; the beginning, if this was the end.
    next: DueCursor,
    /// Whether a lane had no room.
    full: bool,
}

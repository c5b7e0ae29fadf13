//! Looks at calls, events and counters. What is read is durable: a reader sees committed state only.

use super::{Engine, EngineError};
use crate::domain::id::{CallId, IdemKey, Version};
use crate::domain::time::Timestamp;
use crate::store::past::{Past, Rewind};
use crate::store::{Filter, Recorded, Snapshot, Stats, Store};

impl<S: Store> Engine<S> {
    /// The call with this id.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn get(&self, id: CallId) -> Result<Option<Snapshot>, EngineError> {
        Ok(self.inner.store.load(id).await?)
    }

    /// The call this key leads to.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn find(&self, key: &IdemKey) -> Result<Option<Snapshot>, EngineError> {
        Ok(self.inner.store.find(key).await?)
    }

    /// The events of a call after version `after`, oldest first, at most `limit`; empty if there is no such call.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn history(
        &self,
        id: CallId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Recorded>, EngineError> {
        Ok(self.inner.store.history(id, after, limit).await?)
    }

    /// The call as it was at `version`, folded from its first events.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn get_at(&self, id: CallId, version: Version) -> Result<Past, EngineError> {
        let mut rewind = Rewind::to(version);
        while let Some((after, limit)) = rewind.wants() {
            rewind.take(&self.inner.store.history(id, after, limit).await?)?;
        }
        Ok(rewind.outcome())
    }

    /// The calls that `filter` lets through, newest first, at most `limit`, all older than `before`.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn list(
        &self,
        filter: &Filter,
        before: Option<CallId>,
        limit: usize,
    ) -> Result<Vec<Snapshot>, EngineError> {
        Ok(self.inner.store.list(filter, before, limit).await?)
    }

    /// What is stored, in numbers.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn stats(&self) -> Result<Stats, EngineError> {
        Ok(self.inner.store.stats(self.now()).await?)
    }

    /// What the engine's clock shows.
    pub fn now(&self) -> Timestamp {
        self.inner.settings.clock.now()
    }
}

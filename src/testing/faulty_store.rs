//! A store whose appends can be held up, made to fail, and counted.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::domain::event::Event;
use crate::domain::id::{CallId, IdemKey, Position, ToolName, Version};
use crate::domain::time::Timestamp;
use crate::store::record::{Recorded, Snapshot};
use crate::store::{AppendError, DueCursor, DuePage, Filter, Stats, Store, StoreError};

/// A store over `S` that does as it is told through its [`Faults`].
#[derive(Debug, Clone)]
pub struct FaultyStore<S> {
    inner: Arc<S>,
    faults: Faults,
}

/// What is to go wrong; a clone steers the same store.
#[derive(Debug, Clone)]
pub struct Faults {
    state: Arc<Mutex<State>>,
    stalled: Arc<watch::Sender<bool>>,
    arrived: Arc<watch::Sender<usize>>,
}

#[derive(Debug, Default)]
struct State {
    failure: Option<StoreError>,
    read_failure: Option<StoreError>,
    appended: usize,
}

impl<S: Store> FaultyStore<S> {
    /// A store that works until it is told otherwise.
    pub fn new(inner: S) -> (Self, Faults) {
        let faults = Faults {
            state: Arc::default(),
            stalled: Arc::new(watch::Sender::new(false)),
            arrived: Arc::new(watch::Sender::new(0)),
        };
        (Self { inner: Arc::new(inner), faults: faults.clone() }, faults)
    }

    /// The store beneath.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn readable(&self) -> Result<(), StoreError> {
        self.faults.lock().read_failure.clone().map_or(Ok(()), Err)
    }
}

impl Faults {
    /// From now on appends wait before they reach the store, until [`Faults::release`].
    pub fn stall(&self) {
        self.stalled.send_replace(true);
    }

    /// Lets the waiting appends go on.
    pub fn release(&self) {
        self.stalled.send_replace(false);
    }

    /// From now on appends fail with `error` and write nothing; with nothing they work again.
    pub fn fail_appends(&self, error: Option<StoreError>) {
        self.lock().failure = error;
    }

    /// From now on reads fail with `error`; with nothing they work again.
    pub fn fail_reads(&self, error: Option<StoreError>) {
        self.lock().read_failure = error;
    }

    /// How many appends have been asked for, those that wait or failed among them.
    pub fn arrived(&self) -> usize {
        *self.arrived.borrow()
    }

    /// Waits until so many appends have been asked for.
    pub async fn wait_for_arrivals(&self, count: usize) {
        let mut arrived = self.arrived.subscribe();
        arrived.wait_for(|arrived| *arrived >= count).await.expect("the sender lives in self");
    }

    /// How many appends the store took.
    pub fn appended(&self) -> usize {
        self.lock().appended
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Store> Store for FaultyStore<S> {
    async fn append(&self, before: &Snapshot, events: Vec<Event>) -> Result<Snapshot, AppendError> {
        let faults = &self.faults;
        faults.arrived.send_modify(|arrived| *arrived += 1);
        faults.stalled.subscribe().wait_for(|stalled| !stalled).await.expect("the sender lives in self");
        if let Some(error) = faults.lock().failure.clone() {
            return Err(error.into());
        }
        let after = self.inner.append(before, events).await?;
        faults.lock().appended += 1;
        Ok(after)
    }

    async fn load(&self, id: CallId) -> Result<Option<Snapshot>, StoreError> {
        self.readable()?;
        self.inner.load(id).await
    }

    async fn find(&self, key: &IdemKey) -> Result<Option<Snapshot>, StoreError> {
        self.readable()?;
        self.inner.find(key).await
    }

    async fn history(&self, id: CallId, after: Version, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.readable()?;
        self.inner.history(id, after, limit).await
    }

    async fn list(
        &self,
        filter: &Filter,
        before: Option<CallId>,
        limit: usize,
    ) -> Result<Vec<Snapshot>, StoreError> {
        self.readable()?;
        self.inner.list(filter, before, limit).await
    }

    async fn due(
        &self,
        tool: &ToolName,
        now: Timestamp,
        cursor: DueCursor,
        limit: usize,
    ) -> Result<DuePage, StoreError> {
        self.readable()?;
        self.inner.due(tool, now, cursor, limit).await
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Snapshot>, StoreError> {
        self.readable()?;
        self.inner.expired(now, limit).await
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        self.readable()?;
        self.inner.stats(now).await
    }

    async fn scan(&self, after: Position, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.readable()?;
        self.inner.scan(after, limit).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

//! Waiting for a call to move, without polling: whoever waits is woken by the append that moved it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::{Engine, EngineError};
use crate::domain::call::Call;
use crate::domain::id::{CallId, Version};
use crate::store::{Snapshot, Store};

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The call is final, failed or held: nothing more happens unless somebody asks.
    Settled,
    /// The call is at another version than this one.
    Changed(Version),
}

impl Until {
    fn is_met(self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Changed(seen) => snapshot.version != seen,
            Self::Settled => match snapshot.call {
                Call::Held { .. } | Call::Succeeded { .. } | Call::Failed { .. } => true,
                Call::Absent | Call::Pending { .. } | Call::Running { .. } => false,
            },
        }
    }
}

impl<S: Store> Engine<S> {
    /// The call once `until` is met, or as it is when `at_most` has passed or the engine stops. Nothing if there is
    /// no such call.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn wait(
        &self,
        id: CallId,
        until: Until,
        at_most: Duration,
    ) -> Result<Option<Snapshot>, EngineError> {
        // Subscribed before the look, so that no change can fall between the two.
        let subscription = self.inner.waiters.subscribe(id);
        let Some(snapshot) = self.get(id).await? else { return Ok(None) };
        Ok(Some(self.watch(subscription, snapshot, until, at_most).await))
    }

    /// The call once `until` is met, or as it is when `at_most` has passed or the engine stops. `snapshot` is the call as it
    /// was found after the subscription began.
    pub(super) async fn watch(
        &self,
        mut subscription: Subscription,
        mut snapshot: Snapshot,
        until: Until,
        at_most: Duration,
    ) -> Snapshot {
        if until.is_met(&snapshot) {
            return snapshot;
        }
        let watching = async {
            while subscription.changes.changed().await.is_ok() {
                if let Some(news) = subscription.changes.borrow_and_update().as_ref()
                    && news.version > snapshot.version
                {
                    snapshot = news.clone();
                }
                if until.is_met(&snapshot) {
                    break;
                }
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(at_most, watching) => {}
            () = self.inner.stop.cancelled() => {}
        }
        snapshot
    }
}

/// Who waits for which call.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<HashMap<CallId, watch::Sender<Option<Snapshot>>>>);

impl Waiters {
    /// From now on, whatever is published of the call is seen.
    pub(super) fn subscribe(self: &Arc<Self>, id: CallId) -> Subscription {
        let changes = self.with(|waiting| waiting.entry(id).or_default().subscribe());
        Subscription { waiters: self.clone(), id, changes }
    }

    /// Shows the call's new state to whoever waits for it.
    pub(super) fn publish(&self, id: CallId, snapshot: &Snapshot) {
        self.with(|waiting| {
            if let Some(sender) = waiting.get(&id) {
                // Two appends can be published in either order; the older one must not hide the newer.
                sender.send_if_modified(|shown| {
                    let newer = shown.as_ref().is_none_or(|shown| shown.version < snapshot.version);
                    if newer {
                        *shown = Some(snapshot.clone());
                    }
                    newer
                });
            }
        });
    }

    fn with<T>(&self, look: impl FnOnce(&mut HashMap<CallId, watch::Sender<Option<Snapshot>>>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// One who waits. Leaves no trace when it stops waiting.
pub(super) struct Subscription {
    waiters: Arc<Waiters>,
    id: CallId,
    changes: watch::Receiver<Option<Snapshot>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.waiters.with(|waiting| {
            // The receiver being dropped still counts, hence one and not zero.
            if waiting.get(&self.id).is_some_and(|sender| sender.receiver_count() <= 1) {
                waiting.remove(&self.id);
            }
        });
    }
}

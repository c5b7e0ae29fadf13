//! The way from a call to a worker: one lane for each tool, so that a tool that is stuck blocks no other.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::Engine;
use super::tools::{Registry, Tool};
use crate::domain::id::{CallId, ToolName};
use crate::store::{Snapshot, Store};

/// How many calls a lane holds in memory before they wait in the store instead: a few batches of the writer.
const LANE_CAPACITY: usize = 2048;
/// How many attempts of a tool that waits for nothing may be under way at once. They cost no time but the store's,
/// so this is what lets a batch of the writer fill with claims and outcomes.
const LOCAL_ATTEMPTS: usize = 512;

/// The lanes and what is on them.
pub(super) struct Pool {
    lanes: HashMap<ToolName, Arc<Lane>>,
    /// Calls between their offer and their claim. A call found twice is offered once.
    waiting: Mutex<HashSet<CallId>>,
}

/// The way to the workers for the calls of one tool.
pub(super) struct Lane {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) name: ToolName,
    queue: mpsc::Sender<Snapshot>,
    /// Taken by the lane's task when the engine starts.
    exit: Mutex<Option<mpsc::Receiver<Snapshot>>>,
    slots: Arc<Semaphore>,
    /// Whether a call may wait in the store that this lane does not know of.
    behind: AtomicBool,
    /// Wakes the feed when the lane is behind and has room.
    pub(super) hungry: Notify,
}

/// What became of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// It is on its lane, or was already.
    Taken,
    /// Its lane is full.
    Full,
}

impl Lane {
    /// From now on there may be a call in the store that this lane does not know of.
    pub(super) fn fall_behind(&self) {
        self.behind.store(true, Ordering::SeqCst);
    }

    /// Taken as caught up from here on, so the caller must now look at the store.
    pub(super) fn catch_up(&self) {
        self.behind.store(false, Ordering::SeqCst);
    }

    fn is_behind(&self) -> bool {
        self.behind.load(Ordering::SeqCst)
    }

    /// Whether more calls would only make the queue longer.
    pub(super) fn has_enough(&self) -> bool {
        self.queue.capacity() < LANE_CAPACITY / 2
    }
}

impl Pool {
    pub(super) fn new(tools: &Registry, workers: NonZeroUsize) -> Self {
        let shared = Arc::new(Semaphore::new(workers.get()));
        let lanes = tools.iter().map(|(name, tool)| {
            let (queue, exit) = mpsc::channel(LANE_CAPACITY);
            let terms = tool.terms();
            let slots = match (terms.concurrency, terms.local) {
                (Some(own), _) => Arc::new(Semaphore::new(own.get())),
                (None, true) => Arc::new(Semaphore::new(LOCAL_ATTEMPTS)),
                (None, false) => shared.clone(),
            };
            let lane = Lane {
                tool: tool.clone(),
                name: name.clone(),
                queue,
                exit: Mutex::new(Some(exit)),
                slots,
                behind: AtomicBool::new(true),
                hungry: Notify::new(),
            };
            (name.clone(), Arc::new(lane))
        });
        Self { lanes: lanes.collect(), waiting: Mutex::default() }
    }

    /// Puts a pending call on its lane, if there is room.
    pub(super) fn offer(&self, lane: &Lane, snapshot: &Snapshot) -> Offer {
        let Some(request) = snapshot.call.request() else { return Offer::Taken };
        if !self.with_waiting(|calls| calls.insert(request.call_id)) {
            return Offer::Taken;
        }
        match lane.queue.try_send(snapshot.clone()) {
            Ok(()) => Offer::Taken,
            Err(_) => {
                self.leave(request.call_id);
                Offer::Full
            }
        }
    }

    /// The call waits no more: it was claimed, or could not be.
    pub(super) fn leave(&self, id: CallId) {
        self.with_waiting(|calls| calls.remove(&id));
    }

    fn with_waiting<T>(&self, look: impl FnOnce(&mut HashSet<CallId>) -> T) -> T {
        look(&mut self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl<S: Store> Engine<S> {
    /// Hands a call that has just become pending to its lane. While older calls of its tool wait in the store it joins
    /// them, so that nobody is overtaken. A call whose tool is not configured waits in the store until it is.
    pub(super) fn offer(&self, snapshot: &Snapshot) {
        let pool = &self.inner.pool;
        let lane = snapshot.call.request().and_then(|request| pool.lanes.get(&request.tool));
        if let Some(lane) = lane
            && !lane.is_behind()
            && pool.offer(lane, snapshot) == Offer::Full
        {
            lane.fall_behind();
        }
    }

    pub(super) fn spawn_lanes(&self) {
        for lane in self.inner.pool.lanes.values() {
            let exit = lane.exit.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            if let Some(exit) = exit {
                self.inner.tasks.spawn(self.clone().run_lane(lane.clone(), exit));
                self.inner.tasks.spawn(self.clone().feed(lane.clone()));
            }
        }
    }

    /// Takes calls off a lane as its slots allow, until the engine stops.
    async fn run_lane(self, lane: Arc<Lane>, mut exit: mpsc::Receiver<Snapshot>) {
        let stop = self.inner.stop.clone();
        // The call first: a slot may be shared with other lanes, so an idle lane must not sit on one.
        let next = async |exit: &mut mpsc::Receiver<Snapshot>| -> Option<(Snapshot, OwnedSemaphorePermit)> {
            Some((exit.recv().await?, lane.slots.clone().acquire_owned().await.ok()?))
        };
        while let Some((snapshot, slot)) = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            next = next(&mut exit) => next,
        } {
            if lane.is_behind() && !lane.has_enough() {
                lane.hungry.notify_one();
            }
            let (engine, lane) = (self.clone(), lane.clone());
            self.inner.tasks.spawn(async move {
                engine.attempt(&lane, snapshot).await;
                drop(slot);
            });
        }
    }
}

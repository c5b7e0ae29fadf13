//! The reference store: a lock, a log, and what follows from it. Obviously right rather than fast.
//!
//! It keeps everything in memory and loses it at the end; other stores are right if they behave as this one does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::record::{Recorded, Snapshot};
use super::{AppendError, DueCursor, DuePage, Filter, Stats, Store, StoreError};
use crate::domain::call::{Call, Status};
use crate::domain::event::Event;
use crate::domain::id::{CallId, IdemKey, Position, ToolName, Version};
use crate::domain::time::Timestamp;

/// A store in memory. A clone is another handle to the same store.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The truth.
    log: Vec<Recorded>,
    /// The calls in the order their keys were taken, each with the places of its events in the log.
    calls: Vec<(Snapshot, Vec<usize>)>,
    by_id: HashMap<CallId, usize>,
    by_key: HashMap<IdemKey, usize>,
    closed: bool,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn open(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.closed {
            true => Err(StoreError::Unavailable("it is closed".into())),
            false => Ok(state),
        }
    }
}

impl State {
    fn append(&mut self, before: &Snapshot, events: Vec<Event>) -> Result<Snapshot, AppendError> {
        let (after, entries) = before.apply_all(events)?;
        let Some(request) = after.call.request() else { return Ok(after) };
        let index = match before.call {
            Call::Absent => {
                if let Some(&holder) = self.by_key.get(&request.key) {
                    return Err(AppendError::Conflict(Box::new(self.calls[holder].0.clone())));
                }
                if self.by_id.contains_key(&request.call_id) {
                    return Err(corrupt(request.call_id, "there are two calls with this id"));
                }
                self.by_id.insert(request.call_id, self.calls.len());
                self.by_key.insert(request.key.clone(), self.calls.len());
                self.calls.push((before.clone(), vec![]));
                self.calls.len() - 1
            }
            Call::Pending { .. }
            | Call::Running { .. }
            | Call::Held { .. }
            | Call::Succeeded { .. }
            | Call::Failed { .. } => {
                let index = self.by_id.get(&request.call_id).copied();
                let index = index.ok_or_else(|| corrupt(request.call_id, "the call is gone"))?;
                let current = &self.calls[index].0;
                if current.version != before.version {
                    return Err(AppendError::Conflict(Box::new(current.clone())));
                }
                if current.chain != before.chain {
                    return Err(corrupt(request.call_id, "it was read from another log"));
                }
                index
            }
        };
        for entry in entries {
            self.calls[index].1.push(self.log.len());
            let position = Position(self.log.len() as u64 + 1);
            self.log.push(Recorded { position, entry });
        }
        self.calls[index].0 = after.clone();
        Ok(after)
    }

    fn snapshots(&self) -> impl DoubleEndedIterator<Item = &Snapshot> + ExactSizeIterator {
        self.calls.iter().map(|(snapshot, _)| snapshot)
    }
}

fn corrupt(call_id: CallId, problem: &str) -> AppendError {
    StoreError::Corrupt(format!("{problem}: {call_id}")).into()
}

impl Store for MemoryStore {
    async fn append(&self, before: &Snapshot, events: Vec<Event>) -> Result<Snapshot, AppendError> {
        self.open()?.append(before, events)
    }

    async fn load(&self, id: CallId) -> Result<Option<Snapshot>, StoreError> {
        let state = self.open()?;
        Ok(state.by_id.get(&id).map(|&index| state.calls[index].0.clone()))
    }

    async fn find(&self, key: &IdemKey) -> Result<Option<Snapshot>, StoreError> {
        let state = self.open()?;
        Ok(state.by_key.get(key).map(|&index| state.calls[index].0.clone()))
    }

    async fn history(&self, id: CallId, after: Version, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let state = self.open()?;
        let events = state.by_id.get(&id).map_or(&[][..], |&index| &state.calls[index].1);
        let events = events.iter().map(|&place| &state.log[place]);
        Ok(events.filter(|event| event.entry.version > after).take(limit).cloned().collect())
    }

    async fn list(
        &self,
        filter: &Filter,
        before: Option<CallId>,
        limit: usize,
    ) -> Result<Vec<Snapshot>, StoreError> {
        let state = self.open()?;
        let older_than = match before {
            Some(id) => state.by_id.get(&id).copied().unwrap_or(0),
            None => state.calls.len(),
        };
        let calls = state.snapshots().take(older_than).rev();
        Ok(calls.filter(|snapshot| filter.lets_through(&snapshot.call)).take(limit).cloned().collect())
    }

    async fn due(
        &self,
        tool: &ToolName,
        now: Timestamp,
        cursor: DueCursor,
        limit: usize,
    ) -> Result<DuePage, StoreError> {
        let state = self.open()?;
        let from = usize::try_from(cursor.0).unwrap_or(0);
        let is_due = |call: &Call| match call {
            Call::Pending { request, due, .. } => request.tool == *tool && due.is_none_or(|due| due <= now),
            Call::Absent
            | Call::Running { .. }
            | Call::Held { .. }
            | Call::Succeeded { .. }
            | Call::Failed { .. } => false,
        };
        let mut due = state.snapshots().enumerate().skip(from).filter(|(_, snapshot)| is_due(&snapshot.call));
        let calls = due.by_ref().take(limit).map(|(_, snapshot)| snapshot.clone()).collect();
        let next = due.next().map(|(index, _)| DueCursor(index as i64));
        Ok(DuePage { calls, next })
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Snapshot>, StoreError> {
        let state = self.open()?;
        let mut over: Vec<_> = state
            .snapshots()
            .filter_map(|snapshot| Some((lease_over(&snapshot.call, now)?, snapshot)))
            .collect();
        over.sort_by_key(|(lease_until, _)| *lease_until);
        Ok(over.into_iter().take(limit).map(|(_, snapshot)| snapshot.clone()).collect())
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        let state = self.open()?;
        let mut stats = Stats { position: state.log.last().map(|last| last.position), ..Stats::default() };
        for Snapshot { call, .. } in state.snapshots() {
            let Some(status) = call.status() else { continue };
            stats.calls += 1;
            stats.effects += u64::from(matches!(call, Call::Succeeded { effect: Some(_), .. }));
            *stats.by_status.entry(status).or_default() += 1;
            stats.held += u64::from(matches!(call, Call::Held { .. }));
            *stats.attempts.entry(call.attempts()).or_default() += 1;
            stats.lease_over += u64::from(lease_over(call, now).is_some());
        }
        let mut pending =
            state.snapshots().filter(|snapshot| snapshot.call.status() == Some(Status::Pending));
        stats.oldest_pending =
            pending.next().and_then(|oldest| oldest.call.request()).map(|request| request.created_at);
        Ok(stats)
    }

    async fn scan(&self, after: Position, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let after = usize::try_from(after.0).unwrap_or(usize::MAX);
        Ok(self.open()?.log.iter().skip(after).take(limit).cloned().collect())
    }

    async fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
    }
}

/// When the lease was over, if the call is running and its lease is over at `now`.
fn lease_over(call: &Call, now: Timestamp) -> Option<Timestamp> {
    match call {
        Call::Running { lease_until, .. } => (*lease_until <= now).then_some(*lease_until),
        Call::Absent
        | Call::Pending { .. }
        | Call::Held { .. }
        | Call::Succeeded { .. }
        | Call::Failed { .. } => None,
    }
}

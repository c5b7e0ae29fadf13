//! Remembers: one write, few reads. The log is the truth; `calls` and `effects` are projections of it.
//!
//! Every change in the system is one call of [`Store::append`] at the version that was read. Two workers that claim
//! at once are two appends at one version: one wins, the other gets [`AppendError::Conflict`] with the call as it is
//! now, and decides again. There is no second mechanism for concurrency.

pub mod cell;
pub mod chain;
pub mod codec;
pub mod counters;
pub mod error;
pub mod memory;
pub mod past;
pub mod projection;
pub mod rebuild;
pub mod record;
pub mod sqlite;
pub mod stats;
pub mod verify;

use std::future::Future;

pub use error::{AppendError, StoreError};
pub use record::{Recorded, Snapshot};
pub use stats::Stats;

use crate::domain::call::{Call, Status};
use crate::domain::event::Event;
use crate::domain::id::{CallId, ClientId, IdemKey, Position, ToolName, Version};
use crate::domain::time::Timestamp;

/// What every store promises. A store is done when it passes the contract suite (`testing::store_contract`).
///
/// All reads show durable state only: what a read returned survives kill -9 and power loss (law L6).
pub trait Store: Send + Sync + 'static {
    /// Appends `events` to the call that `before` shows, and projects them, in one transaction.
    ///
    /// `before` is the call as it was read, or [`Snapshot::absent`] for a new one, whose first event is `created`.
    /// Once this returns `Ok`, the events are durable, and the snapshot is the call after them. Dropping the future
    /// does not take back an append that was queued. Waits while the queue is full.
    ///
    /// # Errors
    /// [`AppendError::Conflict`]: the call has moved on, or the key of a new call is taken (the snapshot is of the
    /// call that holds it); nothing was written. [`AppendError::Store`]: see [`StoreError`]; not acknowledged.
    fn append(
        &self,
        before: &Snapshot,
        events: Vec<Event>,
    ) -> impl Future<Output = Result<Snapshot, AppendError>> + Send;

    /// The call with this id.
    ///
    /// # Errors
    /// See [`StoreError`]; a row whose checksum is wrong is `Corrupt`, never an answer.
    fn load(&self, id: CallId) -> impl Future<Output = Result<Option<Snapshot>, StoreError>> + Send;

    /// The call this key leads to.
    ///
    /// # Errors
    /// As for [`Store::load`].
    fn find(&self, key: &IdemKey) -> impl Future<Output = Result<Option<Snapshot>, StoreError>> + Send;

    /// The events of one call after version `after`, oldest first, at most `limit`.
    ///
    /// # Errors
    /// See [`StoreError`]; an event that cannot be decoded is `Corrupt`.
    fn history(
        &self,
        id: CallId,
        after: Version,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Recorded>, StoreError>> + Send;

    /// The calls that `filter` lets through, newest first, at most `limit`, all older than `before`.
    ///
    /// # Errors
    /// As for [`Store::load`].
    fn list(
        &self,
        filter: &Filter,
        before: Option<CallId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Snapshot>, StoreError>> + Send;

    /// Pending calls of `tool` that may be claimed at `now`, oldest first, at most `limit`, from `cursor` on.
    ///
    /// A damaged call is left out: it is nobody's to run, and must not keep the others from it.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn due(
        &self,
        tool: &ToolName,
        now: Timestamp,
        cursor: DueCursor,
        limit: usize,
    ) -> impl Future<Output = Result<DuePage, StoreError>> + Send;

    /// Running calls, held ones aside, whose lease is over at `now`, at most `limit`.
    ///
    /// A damaged call is left out: it is nobody's to run, and must not keep the others from it.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn expired(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Snapshot>, StoreError>> + Send;

    /// The counters, kept in the transactions of the appends; leases are judged at `now`.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn stats(&self, now: Timestamp) -> impl Future<Output = Result<Stats, StoreError>> + Send;

    /// The whole log after position `after`, oldest first, at most `limit` events.
    ///
    /// # Errors
    /// See [`StoreError`]; an event that cannot be decoded is `Corrupt`.
    fn scan(
        &self,
        after: Position,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Recorded>, StoreError>> + Send;

    /// Finishes what is queued, makes it durable and lets go of the files. Later calls answer `Unavailable`.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// Which calls to list; what is absent lets everything through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// With this status.
    pub status: Option<Status>,
    /// Of this tool.
    pub tool: Option<ToolName>,
    /// Sent by this client.
    pub client_id: Option<ClientId>,
    /// Held, or not held.
    pub held: Option<bool>,
}

impl Filter {
    /// Whether this call is one of those to list.
    pub fn lets_through(&self, call: &Call) -> bool {
        let Some(request) = call.request() else { return false };
        self.status.is_none_or(|status| call.status() == Some(status))
            && self.tool.as_ref().is_none_or(|tool| request.tool == *tool)
            && self.client_id.as_ref().is_none_or(|client_id| request.client_id.as_ref() == Some(client_id))
            && self.held.is_none_or(|held| matches!(call, Call::Held { .. }) == held)
    }
}

/// Where the next page of due calls begins. Opaque: only good for the store that gave it, while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DueCursor(pub(crate) i64);

/// Some of the due calls.
#[derive(Debug, Clone)]
pub struct DuePage {
    /// Oldest first.
    pub calls: Vec<Snapshot>,
    /// Where the next page begins; nothing if this was the last one.
    pub next: Option<DueCursor>,
}

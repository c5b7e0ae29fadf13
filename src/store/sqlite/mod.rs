//! One SQLite file, one server: a single writer with group commit, a few readers, and the checks that come before the
//! first answer.
//!
//! ```text
//!  append ──▶ change ──▶ queue ──▶ writer ──▶ append ──▶ COMMIT, one fsync for all that waited ──▶ answers
//!             (caller's side)      (one thread)                │
//!                                                              ├─▶ head_keeper: how far the log is durable
//!                                                              └─▶ checkpoint: keeps the WAL small
//!  load, find, … ──▶ queue ──▶ reader (a few threads, each with a read-only connection) ──▶ read · due · list
//! ```
//!
//! Memory does not grow with what is stored: the page caches are bounded (see `connection`), the queues are too.

mod append;
mod change;
mod checkpoint;
mod connection;
mod due;
mod error;
pub mod examine;
mod filesystem;
mod head;
mod head_keeper;
mod list;
mod lock;
mod migrate;
mod open;
mod options;
mod paths;
#[cfg(test)]
mod plans;
mod read;
mod reader;
pub mod rebuild;
mod reserve;
mod row;
pub mod verify;
mod version;
mod writer;

use std::future::pending;
use std::path::Path;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot, watch};

use super::record::{Recorded, Snapshot};
use super::{AppendError, DueCursor, DuePage, Filter, Stats, Store, StoreError};
use crate::domain::event::Event;
use crate::domain::id::{CallId, IdemKey, Position, ToolName, Version};
use crate::domain::time::Timestamp;
use change::Change;
use writer::{Job, Message};

pub use filesystem::network_filesystem;
pub use lock::holder;
pub use options::{
    BUSY_TIMEOUT, CrashPoint, DataLoss, Holder, OnFatal, OpenError, Options, PAGE_CACHE, Weakness,
};
pub use reader::SqliteReader;
pub use version::keeps_committed_work;

/// The store in one SQLite file.
///
/// Dropping it does what [`close`](Store::close) does, and waits for it.
pub struct SqliteStore {
    /// There until this is dropped.
    writer: Option<mpsc::Sender<Message>>,
    reader: SqliteReader,
    thread: Option<JoinHandle<()>>,
    /// Nothing is ever sent on it; it ends with the writer thread.
    ended: watch::Receiver<()>,
    accepted_loss: Option<DataLoss>,
}

impl SqliteStore {
    /// Opens the database at `path`, or makes it, once it is sure that nobody else has it and nothing is missing in it.
    ///
    /// Blocks for some milliseconds, or for some seconds where another program has to be waited for. Nothing is served from
    /// a WAL that a crash left behind before it is durable: it is checkpointed here.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        open::open(path, options)
    }

    /// What the database had lost when it was opened with [`Options::accept_data_loss`].
    pub fn accepted_loss(&self) -> Option<&DataLoss> {
        self.accepted_loss.as_ref()
    }

    /// The reading side alone, for callers that must not write. It ends with this store.
    pub fn reader(&self) -> SqliteReader {
        self.reader.clone()
    }

    /// Runs `look` on the writing connection between two batches, and waits for it.
    #[cfg(feature = "testing")]
    pub async fn inspect_writer(&self, look: impl FnOnce(&rusqlite::Connection) + Send + 'static) {
        let (done, waits) = oneshot::channel();
        let look = Box::new(move |db: &rusqlite::Connection| {
            look(db);
            let _ = done.send(());
        });
        if self.send(Message::Inspect(look)).await.is_ok() {
            let _ = waits.await;
        }
    }

    async fn send(&self, message: Message) -> Result<(), StoreError> {
        let closed = || StoreError::Unavailable("it is closed".into());
        self.writer.as_ref().ok_or_else(closed)?.send(message).await.map_err(|_| closed())
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // Without a sender the queue ends, and with it the thread.
        self.writer = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, it has stopped the process.
            let _ = thread.join();
        }
    }
}

impl Store for SqliteStore {
    async fn append(&self, before: &Snapshot, events: Vec<Event>) -> Result<Snapshot, AppendError> {
        let Some(change) = Change::prepare(before, events)? else { return Ok(before.clone()) };
        let (answer, answered) = oneshot::channel();
        self.send(Message::Append(Box::new(Job { change, answer }))).await?;
        match answered.await {
            Ok(result) => result,
            // The writer stopped because nobody knows what is durable, and the process is about to end: any answer here,
            // "failed" too, could be wrong.
            Err(_) => pending().await,
        }
    }

    async fn load(&self, id: CallId) -> Result<Option<Snapshot>, StoreError> {
        self.reader.load(id).await
    }

    async fn find(&self, key: &IdemKey) -> Result<Option<Snapshot>, StoreError> {
        self.reader.find(key).await
    }

    async fn history(&self, id: CallId, after: Version, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.reader.history(id, after, limit).await
    }

    async fn list(
        &self,
        filter: &Filter,
        before: Option<CallId>,
        limit: usize,
    ) -> Result<Vec<Snapshot>, StoreError> {
        self.reader.list(filter, before, limit).await
    }

    async fn due(
        &self,
        tool: &ToolName,
        now: Timestamp,
        cursor: DueCursor,
        limit: usize,
    ) -> Result<DuePage, StoreError> {
        self.reader.due(tool, now, cursor, limit).await
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Snapshot>, StoreError> {
        self.reader.expired(now, limit).await
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        self.reader.stats(now).await
    }

    async fn scan(&self, after: Position, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.reader.scan(after, limit).await
    }

    async fn close(&self) {
        // An error says that it is closing or closed already; either way its end is what to wait for.
        let _ = self.send(Message::Close).await;
        let _ = self.ended.clone().changed().await;
    }
}

//! Reads for async callers: a few threads, each with a connection of its own, behind bounded queues.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::error::open_error;
use super::options::{BUSY_TIMEOUT, OpenError};
use super::read::Reads;
use super::{migrate, paths};
use crate::domain::id::{CallId, IdemKey, Position, ToolName, Version};
use crate::domain::time::Timestamp;
use crate::store::record::{Recorded, Snapshot};
use crate::store::{DueCursor, DuePage, Filter, Stats, StoreError};

/// Threads for reads that touch a few rows: two, so that one that has to wait for the disk does not hold up all others.
const QUICK_THREADS: usize = 2;
/// Reads that wait in a queue before the next caller has to wait with its own.
const QUEUE: usize = 1024;

type Read = Box<dyn FnOnce(&Reads) + Send>;

enum Message {
    Read(Read),
    Stop,
}

/// The reading side of a database. A clone is another handle to the same threads.
#[derive(Clone)]
pub struct SqliteReader {
    /// For reads that touch a few rows.
    quick: mpsc::Sender<Message>,
    /// For pages of the log and of the calls, which may take long: they never keep a quick one waiting.
    long: mpsc::Sender<Message>,
}

/// The threads behind a reader.
pub(super) struct Threads {
    reader: SqliteReader,
    threads: Vec<JoinHandle<()>>,
}

impl SqliteReader {
    /// Opens the database at `path` for reading only, also while a server has it. It sees what is committed.
    ///
    /// # Errors
    /// [`OpenError::Storage`] if there is no such database, or it cannot be read; [`OpenError::Refused`] if it is not one
    /// of this program's.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let path = paths::resolve(path)?;
        migrate::expect_ours(&path, BUSY_TIMEOUT)?;
        // The threads end by themselves when the last handle is dropped.
        Ok(Threads::start(&path, BUSY_TIMEOUT).map_err(|error| open_error(&path, &error))?.reader)
    }

    /// See [`Store::load`](crate::store::Store::load).
    pub async fn load(&self, id: CallId) -> Result<Option<Snapshot>, StoreError> {
        ask(&self.quick, move |reads| reads.load(id)).await
    }

    /// See [`Store::find`](crate::store::Store::find).
    pub async fn find(&self, key: &IdemKey) -> Result<Option<Snapshot>, StoreError> {
        let key = key.clone();
        ask(&self.quick, move |reads| reads.find(&key)).await
    }

    /// See [`Store::history`](crate::store::Store::history).
    pub async fn history(
        &self,
        id: CallId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        ask(&self.quick, move |reads| reads.history(id, after, limit)).await
    }

    /// See [`Store::list`](crate::store::Store::list).
    pub async fn list(
        &self,
        filter: &Filter,
        before: Option<CallId>,
        limit: usize,
    ) -> Result<Vec<Snapshot>, StoreError> {
        let filter = filter.clone();
        ask(&self.long, move |reads| reads.list(&filter, before, limit)).await
    }

    /// See [`Store::due`](crate::store::Store::due).
    pub async fn due(
        &self,
        tool: &ToolName,
        now: Timestamp,
        cursor: DueCursor,
        limit: usize,
    ) -> Result<DuePage, StoreError> {
        let tool = tool.clone();
        ask(&self.quick, move |reads| reads.due(&tool, now, cursor, limit)).await
    }

    /// See [`Store::expired`](crate::store::Store::expired).
    pub async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Snapshot>, StoreError> {
        ask(&self.quick, move |reads| reads.expired(now, limit)).await
    }

    /// See [`Store::stats`](crate::store::Store::stats).
    pub async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        ask(&self.quick, move |reads| reads.stats(now)).await
    }

    /// See [`Store::scan`](crate::store::Store::scan).
    pub async fn scan(&self, after: Position, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        ask(&self.long, move |reads| reads.scan(after, limit)).await
    }
}

async fn ask<T: Send + 'static>(
    queue: &mpsc::Sender<Message>,
    read: impl FnOnce(&Reads) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, answered) = oneshot::channel();
    let read = Box::new(move |reads: &Reads| {
        // A caller that stopped waiting needs no answer: clients that ask for page after page and go would keep the thread
        // from those who wait. If it stops meanwhile, nothing was changed for it.
        if !answer.is_closed() {
            let _ = answer.send(read(reads));
        }
    });
    let closed = || StoreError::Unavailable("it is closed".into());
    queue.send(Message::Read(read)).await.map_err(|_| closed())?;
    answered.await.map_err(|_| closed())?
}

impl Threads {
    pub(super) fn start(path: &Path, busy_timeout: Duration) -> rusqlite::Result<Self> {
        let (quick, quick_queue) = mpsc::channel(QUEUE);
        let (long, long_queue) = mpsc::channel(QUEUE);
        let mut threads = Vec::with_capacity(QUICK_THREADS + 1);
        for (queue, count) in [(quick_queue, QUICK_THREADS), (long_queue, 1)] {
            let queue = Arc::new(Mutex::new(queue));
            for _ in 0..count {
                let (queue, reads) = (queue.clone(), Reads::open(path, busy_timeout)?);
                let thread = std::thread::Builder::new().name("store-read".into());
                let thread = thread.spawn(move || serve(&queue, &reads));
                threads.push(thread.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?);
            }
        }
        Ok(Self { reader: SqliteReader { quick, long }, threads })
    }

    pub(super) fn reader(&self) -> SqliteReader {
        self.reader.clone()
    }

    /// Finishes what is queued and waits for the threads. Must not be called on an async thread.
    pub(super) fn stop(self) {
        for _ in 0..QUICK_THREADS {
            let _ = self.reader.quick.blocking_send(Message::Stop);
        }
        let _ = self.reader.long.blocking_send(Message::Stop);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// The life of a reading thread.
fn serve(queue: &Mutex<mpsc::Receiver<Message>>, reads: &Reads) {
    loop {
        // Whoever holds the lock waits for the queue; the others wait for the lock.
        let message = queue.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
        match message {
            // A read that panics fails its caller, who finds that nobody will answer, and no other.
            Some(Message::Read(read)) => drop(catch_unwind(AssertUnwindSafe(|| read(reads)))),
            Some(Message::Stop) | None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Waker};

    use super::*;
    use crate::store::sqlite::{Options, SqliteStore};

    #[tokio::test]
    async fn a_read_that_nobody_waits_for_any_more_is_not_done() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("calls.db"), Options::default()).unwrap();
        let long = store.reader().long;
        let mut context = Context::from_waker(Waker::noop());
        let (go_on, waits) = std::sync::mpsc::channel::<()>();
        // Keeps the only thread of its kind busy until the test has changed its mind.
        let mut first = Box::pin(ask(&long, move |_| Ok(waits.recv().is_ok())));
        assert!(first.as_mut().poll(&mut context).is_pending());
        let done = Arc::new(AtomicBool::new(false));
        let noted = done.clone();
        let mut abandoned = Box::pin(ask(&long, move |_| {
            noted.store(true, Ordering::SeqCst);
            Ok(())
        }));
        assert!(abandoned.as_mut().poll(&mut context).is_pending());
        drop(abandoned);
        go_on.send(()).unwrap();
        assert_eq!(first.await, Ok(true));
        assert_eq!(ask(&long, |_| Ok(7)).await, Ok(7), "what comes after it is done");
        assert!(!done.load(Ordering::SeqCst));
    }
}

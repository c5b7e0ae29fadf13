//! A folder with a database in it, and short words for what the tests do to it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use callonce::domain::command::Command;
use callonce::domain::id::Position;
use callonce::store::record::{Recorded, Snapshot};
use callonce::store::sqlite::{OpenError, Options, SqliteStore};
use callonce::store::{AppendError, Store, StoreError};
use callonce::testing::random_calls::{decided, request, submit};

/// A folder that is gone when the test is over.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn database(&self) -> PathBuf {
        self.folder().join("calls.db")
    }

    /// The file beside the database with this suffix.
    pub fn beside(&self, suffix: &str) -> PathBuf {
        self.folder().join(format!("calls.db{suffix}"))
    }

    pub fn open(&self) -> SqliteStore {
        self.open_with(Options::default()).unwrap()
    }

    pub fn open_with(&self, options: Options) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(&self.database(), options)
    }

    /// Why the database does not open.
    pub fn refusal(&self) -> OpenError {
        self.open_with(Options::default()).err().expect("it must not open")
    }

    /// Another program that looks at the file or meddles with it.
    pub fn meddler(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.database()).unwrap()
    }
}

/// Call number `n`, just created.
pub async fn created<S: Store>(store: &S, n: u64) -> Snapshot {
    does(store, &Snapshot::absent(), submit(&request(n))).await
}

/// Appends what `command` leads to.
pub async fn does<S: Store>(store: &S, before: &Snapshot, command: Command) -> Snapshot {
    tries(store, before, command).await.unwrap()
}

/// Tries to append what `command` leads to.
pub async fn tries<S: Store>(
    store: &S,
    before: &Snapshot,
    command: Command,
) -> Result<Snapshot, AppendError> {
    store.append(before, decided(&before.call, command)).await
}

pub async fn loaded<S: Store>(store: &S, n: u64) -> Option<Snapshot> {
    store.load(request(n).call_id).await.unwrap()
}

pub async fn log<S: Store>(store: &S) -> Vec<Recorded> {
    store.scan(Position::START, usize::MAX).await.unwrap()
}

/// The store's error in the answer to an append; anything else fails the test.
pub fn store_error(result: Result<Snapshot, AppendError>) -> StoreError {
    match result {
        Err(AppendError::Store(error)) => error,
        other => panic!("the store had to fail, not {other:?}"),
    }
}

/// Stops the writer thread at a point, when told to, until it is let go; and counts how often it comes by each point.
#[derive(Clone, Default)]
pub struct Gate {
    state: Arc<(Mutex<GateState>, Condvar)>,
}

#[derive(Default)]
struct GateState {
    shut: Option<&'static str>,
    waiting: bool,
    passed: Vec<&'static str>,
}

impl Gate {
    /// Options of a store whose writer comes by this gate.
    pub fn options(&self) -> Options {
        let gate = self.clone();
        Options { crash_point: Some(Arc::new(move |point| gate.pass(point))), ..Options::default() }
    }

    fn pass(&self, point: &'static str) {
        let (state, changed) = &*self.state;
        let mut state = state.lock().unwrap();
        state.passed.push(point);
        while state.shut == Some(point) {
            state.waiting = true;
            changed.notify_all();
            state = changed.wait(state).unwrap();
        }
        state.waiting = false;
    }

    /// From now on the writer stops at `point`, at most until what this returns is dropped.
    pub fn shut(&self, point: &'static str) -> Shut {
        self.state.0.lock().unwrap().shut = Some(point);
        Shut(self.clone())
    }

    pub fn open(&self) {
        let (state, changed) = &*self.state;
        state.lock().unwrap().shut = None;
        changed.notify_all();
    }

    /// Waits until the writer stands at the gate; the async tasks of this thread go on meanwhile.
    pub async fn arrival(&self) {
        while !self.state.0.lock().unwrap().waiting {
            tokio::task::yield_now().await;
        }
    }

    /// How often the writer came by `point`.
    pub fn passed(&self, point: &str) -> usize {
        self.state.0.lock().unwrap().passed.iter().filter(|passed| **passed == point).count()
    }
}

/// Opens the gate where a test ends: a store that is dropped waits for its writer, so a test that fails would hang instead.
#[must_use]
pub struct Shut(Gate);

impl Drop for Shut {
    fn drop(&mut self) {
        self.0.open();
    }
}

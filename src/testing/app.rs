//! The whole server inside a test: a store, the engine, the router and the real accept loop on a free port.
#![expect(clippy::missing_panics_doc, reason = "a test kit panics where a test is to fail")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::raw_http::{Answer, Connection, request};
use crate::engine::tools::Registry;
use crate::engine::{Engine, Settings, Store};
use crate::http::accept::{self, Drained};
use crate::http::limits::Limits;
use crate::http::metrics::Metrics;
use crate::http::router::router;
use crate::store::sqlite::{Options, SqliteStore};

/// Threads of a server under test: two, so that one request can wait for another.
const THREADS: usize = 2;

/// What a server is started with; the defaults are those of `serve`.
#[derive(Clone)]
pub struct Setup {
    /// Of the engine.
    pub settings: Settings,
    /// What can be called.
    pub tools: Registry,
    /// What clients may take.
    pub limits: Limits,
}

impl Default for Setup {
    fn default() -> Self {
        Self { settings: Settings::default(), tools: Registry::samples(), limits: Limits::default() }
    }
}

/// A running server. It has threads of its own, so that tests talk to it in plain blocking code; it stops, and its
/// files go, when it is dropped.
pub struct App<S: Store> {
    address: SocketAddr,
    shutdown: CancellationToken,
    /// There until it stops.
    running: Option<(Runtime, Engine<S>, JoinHandle<Drained>)>,
    // The last member: the files have to outlive the store.
    folder: Option<TempDir>,
}

impl App<SqliteStore> {
    /// A server as `serve` starts it, over a new SQLite file.
    pub fn start() -> Self {
        Self::start_with(Setup::default())
    }

    /// The same, set up otherwise.
    pub fn start_with(setup: Setup) -> Self {
        Self::in_folder(tempfile::tempdir().expect("a folder can be made"), setup)
    }

    /// Stops, and starts again over the same file.
    #[must_use]
    pub fn restart(mut self) -> Self {
        self.stop();
        Self::in_folder(self.folder.take().expect("there until it is dropped"), Setup::default())
    }

    fn in_folder(folder: TempDir, setup: Setup) -> Self {
        let file = folder.path().join("callonce.db");
        let store = SqliteStore::open(&file, Options::default()).expect("a file of our own opens");
        let mut app = Self::over(store, setup);
        app.folder = Some(folder);
        app
    }
}

impl<S: Store> App<S> {
    /// A server over `store`.
    pub fn over(store: S, setup: Setup) -> Self {
        let Setup { settings, tools, limits } = setup;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
        let runtime = runtime.expect("threads can be started");
        let metrics = Arc::new(Metrics::default());
        let engine = Engine::new(store, tools, settings, metrics.clone()).expect("the settings fit");
        let shutdown = CancellationToken::new();
        let (address, serving) = runtime.block_on(async {
            engine.start().await.expect("the store works at the start");
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
            let address = listener.local_addr().expect("it is bound");
            let app = router(engine.clone(), metrics, limits);
            // What still waits when a test is over is of no interest.
            let drain = Duration::ZERO;
            (address, tokio::spawn(accept::serve(listener, app, limits, shutdown.clone(), drain)))
        });
        Self { address, shutdown, running: Some((runtime, engine, serving)), folder: None }
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The engine beneath, for what HTTP does not show.
    pub fn engine(&self) -> &Engine<S> {
        &self.running.as_ref().expect("it runs until it is dropped").1
    }

    /// Waits for something of the engine or the store.
    pub fn wait_for<T>(&self, fact: impl Future<Output = T>) -> T {
        self.running.as_ref().expect("it runs until it is dropped").0.block_on(fact)
    }

    /// A new connection.
    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends these bytes on a connection of their own, and reads one answer.
    pub fn send(&self, bytes: impl AsRef<[u8]>) -> Answer {
        self.connect().exchange(bytes)
    }

    /// `GET path`, with these header lines.
    pub fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.send(request("GET", path, headers, b""))
    }

    /// `POST /v1/tool-calls` of a JSON text under `key`, with these header lines besides.
    pub fn post(&self, key: &str, headers: &[&str], body: impl AsRef<[u8]>) -> Answer {
        let key = format!("Idempotency-Key: {key}");
        let own = [key.as_str(), "Content-Type: application/json"];
        self.send(request("POST", "/v1/tool-calls", &[&own, headers].concat(), body.as_ref()))
    }

    fn stop(&mut self) {
        let Some((runtime, engine, serving)) = self.running.take() else { return };
        self.shutdown.cancel();
        let stop = move || {
            runtime.block_on(async {
                // If serving panicked, the test saw it.
                let _ = serving.await;
                engine.stop(Duration::ZERO).await;
            });
            drop(runtime);
            drop(engine);
        };
        // On a thread of its own, because a test may itself run on a runtime, where waiting for another is forbidden.
        let stopped = std::thread::spawn(stop).join();
        assert!(stopped.is_ok() || std::thread::panicking(), "the server did not stop");
    }
}

impl<S: Store> Drop for App<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

//! The stage of a run: the server and its database, the load, the ledger, and what was counted.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use callonce::engine::clock::Stopwatch;

use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::load::Load;
use crate::server::{self, Server};

/// The program whose other commands work on the database between two servers.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_callonce");
/// Below those that clients are given.
const FIRST_PORT: u16 = 20_000;

/// Where a run plays.
pub struct Stage {
    database: PathBuf,
    /// The server's address through all its lives, so that clients find whichever is alive.
    address: SocketAddr,
    server: Option<Server>,
    pub load: Load,
    pub ledger: Ledger,
    /// The stream of what is done to the server.
    pub dice: Dice,
    /// What further things happened, and how often.
    pub counts: BTreeMap<&'static str, u64>,
    /// What else the environment tells each server.
    pub server_env: Vec<(OsString, OsString)>,
    /// How long the last server took until it listened: kills that are to come before draw their moment from it.
    start_took: Duration,
    longest_start: Duration,
}

impl Stage {
    /// With the server's database in this folder, and the witnesses' files in that one, which no fault may reach.
    pub fn set(folder: &Path, witnesses: &Path, seed: u64) -> Self {
        let address = own_address();
        Self {
            database: folder.join("calls.db"),
            address,
            server: None,
            load: Load::start(address, &history(witnesses), seed),
            ledger: Ledger::start(&book(witnesses), seed),
            dice: Dice::new(seed, 0),
            counts: BTreeMap::new(),
            server_env: Vec::new(),
            start_took: Duration::from_millis(100),
            longest_start: Duration::ZERO,
        }
    }

    /// The database, and the files beside it that belong to it; only those that are there.
    pub fn files(&self) -> Vec<PathBuf> {
        let beside = |suffix| self.database.with_extension(format!("db{suffix}"));
        ["", "-wal", "-shm", "-head"].map(beside).into_iter().filter(|file| file.exists()).collect()
    }

    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Makes sure that a server listens.
    pub fn serve(&mut self) {
        if self.server.is_none() {
            let watch = Stopwatch::start();
            let mut server = self.begin();
            server.listens();
            self.start_took = watch.elapsed();
            self.longest_start = self.longest_start.max(self.start_took);
            self.server = Some(server);
        }
    }

    /// Starts a server and does not wait for it: it opens its file, and recovers.
    pub fn begin(&self) -> Server {
        self.begin_with(&[])
    }

    /// The same, and tells it this by its environment.
    pub fn begin_with(&self, env: &[(&str, &str)]) -> Server {
        let mut command = server::command(&self.database, self.address, self.ledger.address);
        command.envs(self.server_env.iter().map(|(name, value)| (name, value))).envs(env.iter().copied());
        Server::start(command)
    }

    /// The server that listens; whoever takes it ends it.
    pub fn take_server(&mut self) -> Server {
        self.server.take().expect("a server listens")
    }

    /// Lets a moment pass that is drawn from the seed: the moment is the fault, nobody waits for anything.
    pub fn random_moment(&mut self, most: Duration) {
        let moment = self.dice.below(u64::try_from(most.as_micros()).unwrap_or(u64::MAX).max(1));
        std::thread::sleep(Duration::from_micros(moment));
    }

    /// As long as it lasts until a server listens.
    pub fn start_took(&self) -> Duration {
        self.start_took
    }

    /// The longest that it ever lasted: recovery is in it.
    pub fn longest_start(&self) -> Duration {
        self.longest_start
    }

    /// A command of the program, on the database of a server that is not there.
    pub fn callonce(&self, command: &str) -> Command {
        let mut callonce = Command::new(PROGRAM);
        callonce.env_clear().arg(command).arg("--db").arg(&self.database);
        callonce
    }
}

/// Where the history is, among the witnesses.
pub fn history(witnesses: &Path) -> PathBuf {
    witnesses.join("history.ndjson")
}

/// Where the ledger's book is.
pub fn book(witnesses: &Path) -> PathBuf {
    witnesses.join("book.ndjson")
}

/// An address that no other run has, at this time or on this machine: one process, one loopback address; one stage, one port. A port
/// that clients are given, or one that another run takes while the server is dead, would be no address for all its lives.
pub fn own_address() -> SocketAddr {
    static STAGES: AtomicU16 = AtomicU16::new(0);
    let [_, a, b, c] = std::process::id().to_be_bytes();
    SocketAddr::from(([127, a, b, c], FIRST_PORT + STAGES.fetch_add(1, Ordering::Relaxed)))
}

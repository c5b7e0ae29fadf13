//! The server under load, where it is one of its own, with a database that goes away again.

use std::path::Path;
use std::process::Command;

use super::process::Usage;
use crate::cli::doctor::is_in_memory;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::say;
use crate::cli::server_process::{NotServing, ServerProcess, TemporaryFolder};

/// A server and the folder of its database. Both end when this is dropped.
pub(super) struct OwnServer {
    // Dropped before the folder: a server that still writes would keep it from being removed.
    process: ServerProcess,
    folder: TemporaryFolder,
}

impl OwnServer {
    /// Starts one on a free port, with its database in a new folder below `place`.
    pub(super) async fn start(place: &Path) -> Result<Self, Failure> {
        let folder = TemporaryFolder::make(place, "bench")?;
        let not_started = |error: std::io::Error| {
            Failure::new(Exit::Storage, format!("the server under load cannot be started: {error}"))
        };
        let mut command = Command::new(std::env::current_exe().map_err(not_started)?);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--db"]);
        command.arg(folder.path().join("calls.db"));
        let started = ServerProcess::start(command, |line| {
            if !line.starts_with("callonce: try: ") {
                say(&format!("server: {line}"));
            }
        });
        let process = started.await.map_err(|problem| match problem {
            NotServing::NotStarted(error) => not_started(error),
            NotServing::Ended(status) => {
                let code = status.and_then(|status| status.code());
                let exit = code.map_or("by a signal".into(), |code| format!("with {code}"));
                Failure::new(Exit::Config, format!("the server under load ended {exit} before it listened"))
            }
        })?;
        Ok(Self { process, folder })
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}", self.process.address())
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        Usage::of(self.pid())
    }

    /// Where its database is.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether its database is only in memory, where a commit is much cheaper than on any disk.
    pub(super) fn is_in_memory(&self) -> bool {
        is_in_memory(self.folder())
    }
}

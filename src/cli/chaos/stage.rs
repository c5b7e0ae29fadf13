//! Where a scenario plays: a temporary database and a real server process, gone when it is over, however it ends.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::timeout;

use crate::cli::exit::{Exit, Failure};
use crate::cli::server_process::{NotServing, ServerProcess, TemporaryFolder};
use crate::engine::clock::Stopwatch;
use crate::http::client::Client;

/// How long anything may take that is sure to happen where nothing is broken. Each takes far less than a second.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// Between two looks at a process that is to end.
const PAUSE: Duration = Duration::from_millis(5);

/// One database, and the servers that use it one after the other.
pub(super) struct Stage {
    program: PathBuf,
    // Dropped before the folder: a server that still writes would keep it from being removed.
    server: Option<ServerProcess>,
    folder: TemporaryFolder,
}

impl Stage {
    /// An empty folder, and the program whose `serve` will use it.
    pub(super) fn set(program: &Path) -> Result<Self, Failure> {
        Ok(Self {
            program: program.to_owned(),
            server: None,
            folder: TemporaryFolder::make(&std::env::temp_dir(), "chaos")?,
        })
    }

    /// Where the database is, or will be.
    pub(super) fn database(&self) -> PathBuf {
        self.folder.path().join("calls.db")
    }

    /// Starts a server with these options and environment, and returns its address once it listens.
    pub(super) async fn serve(&mut self, options: &[&str], env: &[(&str, &str)]) -> Result<String, Failure> {
        // One server holds the file at a time.
        drop(self.server.take());
        let mut command = Command::new(&self.program);
        command.env_clear().envs(env.iter().copied());
        command.args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(self.database()).args(options);
        let said = Arc::new(Mutex::new("it said nothing".to_owned()));
        let last = Arc::clone(&said);
        let starting = ServerProcess::start(command, move |line| {
            line.clone_into(&mut last.lock().unwrap_or_else(PoisonError::into_inner));
        });
        match timeout(PATIENCE, starting).await {
            Ok(Ok(server)) => Ok(self.server.insert(server).address().to_owned()),
            Ok(Err(NotServing::NotStarted(error))) => {
                Err(Failure::new(Exit::Usage, format!("--server {}: {error}", self.program.display())))
            }
            Ok(Err(NotServing::Ended(_))) | Err(_) => {
                let (program, said) =
                    (self.program.display(), said.lock().unwrap_or_else(PoisonError::into_inner));
                Err(Failure::new(Exit::Config, format!("{program} serve does not come up: {said}")))
            }
        }
    }

    /// A client of the server at this address.
    pub(super) fn client(address: &str) -> Result<Client, Failure> {
        Ok(Client::new(&format!("http://{address}"))?)
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(server) = &self.server {
            server.signal(signal);
        }
    }

    /// Waits until the server is gone, and says how it went; nothing if it stays.
    pub(super) async fn ends(&mut self) -> Option<ExitStatus> {
        let server = self.server.as_mut()?;
        let watch = Stopwatch::start();
        while watch.elapsed() < PATIENCE {
            if let Some(status) = server.status() {
                return Some(status);
            }
            tokio::time::sleep(PAUSE).await;
        }
        None
    }

    /// Asks the server to stop, waits until it has, and leaves the database for a look.
    pub(super) async fn stop(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        let status = self.ends().await;
        self.server = None;
        status
    }
}

//! Where a scenario plays: a temporary database and a real server process, gone when it is over, however it ends.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::cli::exit::{Exit, Failure};
use crate::engine::clock::Stopwatch;
use crate::engine::ids;
use crate::http::client::Client;

/// How long anything may take that is sure to happen where nothing is broken. Each takes far less than a second.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// Between two looks at something that happens in another process.
const PAUSE: Duration = Duration::from_millis(5);

/// One database, and the servers that use it one after the other.
pub(super) struct Stage {
    program: PathBuf,
    // Dropped before the folder: a server that still writes would keep it from being removed.
    server: Option<Server>,
    folder: Folder,
}

impl Stage {
    /// An empty folder, and the program whose `serve` will use it.
    pub(super) fn set(program: &Path) -> Result<Self, Failure> {
        Ok(Self { program: program.to_owned(), server: None, folder: Folder::make()? })
    }

    /// Where the database is, or will be.
    pub(super) fn database(&self) -> PathBuf {
        self.folder.0.join("calls.db")
    }

    /// Starts a server with these options and environment, and returns its address once it listens.
    pub(super) async fn serve(&mut self, options: &[&str], env: &[(&str, &str)]) -> Result<String, Failure> {
        // One server holds the file at a time.
        drop(self.server.take());
        let mut command = Command::new(&self.program);
        command.env_clear().envs(env.iter().copied());
        command.args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(self.database()).args(options);
        let mut server = Server::spawn(command)?;
        let listens =
            until(|| server.address().or_else(|| server.has_ended().then_some(String::new()))).await;
        match listens {
            Some(address) if !address.is_empty() => {
                self.server = Some(server);
                Ok(address)
            }
            _ => {
                let program = self.program.display();
                let said = server.said();
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
        until(|| server.status()).await
    }

    /// Asks the server to stop, waits until it has, and leaves the database for a look.
    pub(super) async fn stop(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        let status = self.ends().await;
        self.server = None;
        status
    }
}

/// Looks until there is something to see, or patience ends.
pub(super) async fn until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let watch = Stopwatch::start();
    while watch.elapsed() < PATIENCE {
        if let Some(seen) = look() {
            return Some(seen);
        }
        tokio::time::sleep(PAUSE).await;
    }
    None
}

/// A temporary folder that nobody else can look into.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("callonce-chaos-{}", ids::key()));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| Failure::new(Exit::Storage, format!("{}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is temporary all the same.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server process that does not outlive its scenario.
struct Server {
    child: Child,
    words: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn spawn(mut command: Command) -> Result<Self, Failure> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .spawn()
            .map_err(|error| Failure::new(Exit::Usage, format!("--server {program}: {error}")))?;
        let words = Arc::<Mutex<Vec<String>>>::default();
        if let Some(stderr) = child.stderr.take() {
            let words = Arc::clone(&words);
            // Read to the end, so that the server never waits for a reader; ends with the process.
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    words.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
            });
        }
        Ok(Self { child, words })
    }

    fn address(&self) -> Option<String> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.iter().find_map(|line| {
            let rest = line.strip_prefix("callonce: listening on http://")?;
            Some(rest.split(',').next()?.to_owned())
        })
    }

    /// The last words, which say why.
    fn said(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.last().cloned().unwrap_or_else(|| "it said nothing".into())
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    fn has_ended(&mut self) -> bool {
        self.status().is_some()
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // If it has ended by itself, it is not waited for yet, so the number is still its own.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Also ends one that is stopped; one that has ended is only waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

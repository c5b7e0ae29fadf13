//! The server under load: one of its own, with a database that goes away again, or one that runs already.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use tokio::sync::oneshot;

use super::process::Usage;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::say;
use crate::engine::ids;

/// What Linux calls a file system in memory.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// A server process and the folder of its database. Both end when this is dropped.
pub(super) struct OwnServer {
    child: Child,
    base: String,
    folder: Folder,
}

impl OwnServer {
    /// Starts one on a free port, with its database in a new folder below `place`.
    pub(super) async fn start(place: &Path) -> Result<Self, Failure> {
        let folder = Folder::new(place)?;
        let storage = |error: std::io::Error| {
            Failure::new(Exit::Storage, format!("the server under load cannot be started: {error}"))
        };
        let mut command = Command::new(std::env::current_exe().map_err(storage)?);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--db"]);
        command.arg(folder.0.join("calls.db"));
        // Ctrl-C is for this process, which ends the server itself once it has stopped asking it.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(storage)?;
        let listens = child.stderr.take().map(follow);
        let mut server = Self { child, base: String::new(), folder };
        let listening = match listens {
            Some(listens) => listens.await.ok(),
            None => None,
        };
        server.base = listening.ok_or_else(|| {
            let exit = server.child.wait().ok().and_then(|status| status.code());
            let exit = exit.map_or("by a signal".into(), |code| format!("with {code}"));
            Failure::new(Exit::Config, format!("the server under load ended {exit} before it listened"))
        })?;
        Ok(server)
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        Usage::of(self.pid())
    }

    /// Where its database is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Whether its database is only in memory, where a commit is much cheaper than on any disk.
    pub(super) fn is_in_memory(&self) -> bool {
        rustix::fs::statfs(self.folder()).is_ok_and(|found| found.f_type as u64 == TMPFS_MAGIC)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Nobody needs its database again, so it does not have to drain.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes on what the server says, from a thread so that it never waits for its reader. Returns where it listens.
fn follow(stderr: ChildStderr) -> oneshot::Receiver<String> {
    let (found, listens) = oneshot::channel();
    let mut found = Some(found);
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            match line.strip_prefix("callonce: listening on ").and_then(|rest| rest.split(',').next()) {
                Some(base) => {
                    if let Some(found) = found.take() {
                        let _ = found.send(base.to_owned());
                    }
                }
                None if line.starts_with("callonce: try: ") => {}
                None => say(&format!("server: {line}")),
            }
        }
    });
    listens
}

/// A folder that is removed with all that is in it.
struct Folder(PathBuf);

impl Folder {
    fn new(place: &Path) -> Result<Self, Failure> {
        let path = place.join(format!("callonce-bench-{}", ids::key()));
        // What clients send is nobody else's business, not even in a test of speed.
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            Failure::new(Exit::Storage, format!("no folder can be made in {}: {error}", place.display()))
        })?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            say(&format!("{} could not be removed: {error}", self.0.display()));
        }
    }
}

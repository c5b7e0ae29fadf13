//! A server process of our own, and a folder for its database: both are gone once whoever made them is done with them.

use std::io::{BufRead, BufReader, Error};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use super::exit::{Exit, Failure};
use super::output::say;
use crate::engine::ids;

/// A server that listens. Killed when this is dropped.
pub(super) struct ServerProcess {
    child: Child,
    address: String,
}

/// Why there is no server.
pub(super) enum NotServing {
    /// There is no such program, for instance.
    NotStarted(Error),
    /// It ended before it listened.
    Ended(Option<ExitStatus>),
}

impl ServerProcess {
    /// Starts `serve` by this command, and returns once it listens. What else it says, `hear` is given line by line.
    pub(super) async fn start(
        mut command: Command,
        hear: impl FnMut(&str) + Send + 'static,
    ) -> Result<Self, NotServing> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Ctrl-C is for this process, which ends the server itself once it has stopped asking it.
        command.process_group(0);
        let mut child = command.spawn().map_err(NotServing::NotStarted)?;
        let listens = child.stderr.take().map(|stderr| follow(stderr, hear));
        // From here on it is killed, whatever becomes of the wait.
        let mut server = Self { child, address: String::new() };
        let address = match listens {
            Some(listens) => listens.await.ok(),
            None => None,
        };
        server.address = address.ok_or_else(|| NotServing::Ended(server.end()))?;
        Ok(server)
    }

    /// Where it listens, as host and port.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) {
            // If it has ended by itself, it is not waited for yet, so the number is still its own.
            let _ = kill_process(pid, signal);
        }
    }

    /// How it ended, if it has.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Also ends one that is stopped; one that has ended is only waited for.
    fn end(&mut self) -> Option<ExitStatus> {
        let _ = self.child.kill();
        self.child.wait().ok()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Its database is looked at as it is, or by nobody: it does not have to drain.
        self.end();
    }
}

/// Passes on what the server says, from a thread so that it never waits for its reader. Returns where it listens.
fn follow(stderr: ChildStderr, mut hear: impl FnMut(&str) + Send + 'static) -> oneshot::Receiver<String> {
    let (found, listens) = oneshot::channel();
    let mut found = Some(found);
    std::thread::spawn(move || {
        // What it says need not be a text: it may name files.
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            match line.strip_prefix("callonce: listening on http://").and_then(|rest| rest.split(',').next())
            {
                Some(address) => {
                    if let Some(found) = found.take() {
                        // Whoever started it may have been interrupted.
                        let _ = found.send(address.to_owned());
                    }
                }
                None => hear(&line),
            }
        }
    });
    listens
}

/// A folder that is removed with all that is in it.
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// A new one in `place`, for a `purpose` that is part of its name.
    pub(super) fn make(place: &Path, purpose: &str) -> Result<Self, Failure> {
        let path = place.join(format!("callonce-{purpose}-{}", ids::key()));
        // What clients send is nobody else's business, not even in a test.
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            Failure::new(Exit::Storage, format!("no folder can be made in {}: {error}", place.display()))
        })?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            say(&format!("{} could not be removed: {error}", self.0.display()));
        }
    }
}

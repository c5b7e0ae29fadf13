//! The server as a process: started on a free port, killed in every way, read to its last word.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

use super::client::Client;
use super::db::Db;
use super::patience::until;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_callonce");

/// A folder with a database in it, and the servers that use it one after the other.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the database is, or will be.
    pub fn database(&self) -> PathBuf {
        self.folder().join("calls.db")
    }

    /// The file beside the database with this suffix.
    pub fn beside(&self, suffix: &str) -> PathBuf {
        self.folder().join(format!("calls.db{suffix}"))
    }

    /// The database, for a look that changes nothing.
    pub fn db(&self) -> Db {
        Db::open(&self.database())
    }

    /// A server with no options.
    pub fn serve(&self) -> Server {
        self.start().server()
    }

    /// A server that is still to be given its options.
    pub fn start(&self) -> Start {
        Start::on(&self.database())
    }
}

/// How a server is started.
pub struct Start {
    command: Command,
}

impl Start {
    /// On this database, on a free port, with an environment that says nothing.
    pub fn on(database: &Path) -> Self {
        Self::of(Path::new(PROGRAM), database)
    }

    /// As [`Start::on`], of a copy of the program.
    pub fn of(program: &Path, database: &Path) -> Self {
        Self::by(Command::new(program), database)
    }

    /// As [`Start::on`], by a program that runs the command after its own arguments, as `unshare` does.
    pub fn under(program: &[&str], database: &Path) -> Self {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(PROGRAM);
        Self::by(command, database)
    }

    fn by(mut command: Command, database: &Path) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("CALLONCE_LISTEN", "127.0.0.1:0");
        command.args(["serve", "--db"]).arg(database);
        Self { command }
    }

    pub fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Armed to die at this point.
    pub fn dying_at(self, point: &str) -> Self {
        self.args(["--chaos"]).env("CALLONCE_CRASH_AT", point)
    }

    /// As this user and group.
    pub fn user(mut self, id: u32) -> Self {
        self.command.uid(id).gid(id);
        self
    }

    /// The server once it listens.
    pub fn server(self) -> Server {
        match self.attempt() {
            Ok(server) => server,
            Err(exit) => panic!("the server did not start: {exit:?}"),
        }
    }

    /// The server's end, which comes before it listens.
    pub fn end(self) -> Exit {
        match self.attempt() {
            Ok(server) => panic!("the server started: {:?}", server.words()),
            Err(exit) => exit,
        }
    }

    /// Whichever comes first: the server listens, or it ends.
    pub fn attempt(self) -> Result<Server, Exit> {
        let mut process = Process::spawn(self.command, Stdio::null());
        let listens = until("the server listens, or ends", || {
            let address = process.stderr.words().iter().find_map(|line| address_in(line));
            address.map(Some).or_else(|| process.has_ended().then_some(None))
        });
        match listens {
            Some(address) => Ok(Server { address, process }),
            None => Err(process.exit()),
        }
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let rest = line.strip_prefix("callonce: listening on http://")?;
    rest.split(',').next()?.parse().ok()
}

/// A server that listens. Killed when this is dropped.
pub struct Server {
    pub address: SocketAddr,
    process: Process,
}

impl Server {
    pub fn client(&self) -> Client {
        Client::of(self.address)
    }

    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }

    /// What it has said so far, line by line.
    pub fn words(&self) -> Vec<String> {
        self.process.stderr.words()
    }

    /// Waits until it says a line that holds `text`.
    pub fn says(&self, text: &str) -> String {
        let line = || self.words().into_iter().find(|line| line.contains(text));
        until(&format!("the server says `{text}`"), line)
    }

    pub fn terminate(&self) {
        self.process.signal(Signal::TERM);
    }

    /// Ends it as `kill -9` does.
    pub fn kill(mut self) -> Exit {
        self.process.signal(Signal::KILL);
        self.process.exit()
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(self) -> Exit {
        self.terminate();
        self.exit()
    }

    /// Waits until it ends by itself.
    pub fn exit(mut self) -> Exit {
        self.process.exit()
    }
}

/// How a server ended.
#[derive(Debug)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// All it said.
    pub stderr: String,
}

impl Exit {
    pub fn was_killed(&self) -> bool {
        self.signal == Some(Signal::KILL.as_raw())
    }
}

/// A child process that never outlives the test.
pub struct Process {
    pub child: Child,
    pub stderr: Stderr,
    ended: Option<ExitStatus>,
}

impl Process {
    pub fn spawn(mut command: Command, stdout: Stdio) -> Self {
        command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stderr = Stderr::of(child.stderr.take().expect("it is piped"));
        Self { child, stderr, ended: None }
    }

    pub fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process id is not zero");
            // It may have ended by itself, and is a zombie then, which takes signals without complaint.
            kill_process(pid, signal).expect("our own child can be signalled");
        }
    }

    pub fn has_ended(&mut self) -> bool {
        self.ended = self.ended.or_else(|| self.child.try_wait().expect("our own child can be waited for"));
        self.ended.is_some()
    }

    pub fn exit(&mut self) -> Exit {
        until("the server ends", || self.has_ended().then_some(()));
        let status = self.ended.expect("it has ended");
        let stderr = self.stderr.drained();
        Exit { code: status.code(), signal: status.signal(), stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What a process says, collected by a thread so that the process never waits for its reader.
pub struct Stderr {
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Stderr {
    fn of(pipe: ChildStderr) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let shared = lines.clone();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Self { lines, reader: Some(reader) }
    }

    pub fn words(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn drained(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader of stderr does not panic");
        }
        self.words().join("\n")
    }
}

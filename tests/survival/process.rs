//! A process that this test program starts: itself again in a role, or the program under test. None outlives its test.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long a fact may take before the run has failed. No run that passes comes near it.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How many of its last words are kept of a process.
const LAST_WORDS: usize = 60;

/// The environment variable that names a role.
pub const ROLE: &str = "CALLONCE_SURVIVAL_ROLE";
/// Begins each line that a role says on stdout, where the test framework speaks too.
const SAYS: &str = "survival: ";

/// The program that runs the given role: this one.
pub fn role(name: &str) -> Command {
    let program = std::env::current_exe().expect("a program knows where it lies");
    let mut command = Command::new(program);
    command.args(["--exact", "role::acts", "--nocapture", "--test-threads=1", "--quiet"]).env(ROLE, name);
    command
}

/// What a role says to who started it.
pub fn say(words: &str) {
    let line = format!("{SAYS}{words}\n");
    std::io::stdout().write_all(line.as_bytes()).expect("who started this listens");
}

/// What the environment of a role says under this name.
pub fn told(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("a role is told its {name}"))
}

/// Ends this role with the one who started it, however that one ends: its stdin is closed then.
pub fn ends_with_its_starter() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::abort();
    });
}

/// A child process, killed when this is dropped.
pub struct Process {
    name: &'static str,
    child: Child,
    orders: Option<ChildStdin>,
    words: Receiver<String>,
    last_words: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<JoinHandle<()>>,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts it, and listens to what it says: lines that a role says, and all of stderr.
    pub fn start(name: &'static str, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (tell, words) = channel();
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let said = tell.clone();
        let roles = std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Some((_, words)) = line.split_once(SAYS) {
                    let _ = said.send(words.to_owned());
                }
            }
        });
        let kept = last_words.clone();
        let errors = std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == LAST_WORDS {
                    kept.pop_front();
                }
                kept.push_back(line.clone());
                let _ = tell.send(line);
            }
        });
        let orders = child.stdin.take();
        Self { name, child, orders, words, last_words, readers: vec![roles, errors], ended: None }
    }

    /// Gives it an order, a line on its stdin.
    pub fn order(&mut self, order: &str) {
        let orders = self.orders.as_mut().expect("its stdin is open");
        orders.write_all(format!("{order}\n").as_bytes()).unwrap_or_else(|error| {
            panic!("{} takes no orders: {error}; it said {:?}", self.name, self.last_words())
        });
    }

    /// Listens until it says something that `hears` understands; nothing if it ends before.
    ///
    /// # Panics
    /// If it does neither for a long time.
    pub fn hear<T>(&mut self, fact: &str, mut hears: impl FnMut(&str) -> Option<T>) -> Option<T> {
        loop {
            match self.words.recv_timeout(PATIENCE) {
                Ok(words) => {
                    if let Some(heard) = hears(&words) {
                        return Some(heard);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{} in vain: {fact}; it said {:?}", self.name, self.last_words())
                }
            }
        }
    }

    /// The same of one that must not end.
    pub fn hear_from<T>(&mut self, fact: &str, hears: impl FnMut(&str) -> Option<T>) -> T {
        let heard = self.hear(fact, hears);
        heard.unwrap_or_else(|| panic!("{} has ended: {fact}; it said {:?}", self.name, self.last_words()))
    }

    pub fn last_words(&self) -> Vec<String> {
        self.last_words.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Sends it a signal; whether it was still there to get it.
    pub fn signal(&mut self, signal: Signal) -> bool {
        if self.has_ended() {
            return false;
        }
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process id is not zero");
        kill_process(pid, signal).expect("our own child can be signalled");
        true
    }

    pub fn has_ended(&mut self) -> bool {
        self.ended = self.ended.or_else(|| self.child.try_wait().expect("our own child can be waited for"));
        self.ended.is_some()
    }

    /// Waits until it has ended and everything it said is read.
    pub fn ends(&mut self) -> ExitStatus {
        let status =
            self.ended.unwrap_or_else(|| self.child.wait().expect("our own child can be waited for"));
        self.ended = Some(status);
        drop(self.orders.take());
        for reader in self.readers.drain(..) {
            reader.join().expect("who reads a pipe does not panic");
        }
        status
    }

    /// What it has said that nobody has heard yet.
    pub fn unheard(&self) -> Vec<String> {
        self.words.try_iter().collect()
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

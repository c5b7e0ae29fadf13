//! Parts of a test that need a process of their own: to be killed, to be somebody else, or to hold a lock.
//!
//! The child is this test program again, told by its environment to run [`acts`] and what to do there.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callonce::domain::policy::Interrupted;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::{OpenError, Options, SqliteStore};
use callonce::testing::random_calls::{claim, fail, not_happened, recover, request, submit, succeed};

use crate::support::does;

/// Exit codes of a child that opens a store.
pub const OPENED: i32 = 0;
pub const STORAGE: i32 = 74;
pub const LOCKED: i32 = 75;
pub const REFUSED: i32 = 78;
/// What stands for the exit code of a child that was killed.
pub const KILLED: i32 = -1;

const ROLE: &str = "CALLONCE_TEST_ROLE";
const ACKNOWLEDGED: &str = "acknowledged: ";
const DATABASE: &str = "CALLONCE_TEST_DATABASE";
/// Somebody without rights, by convention.
const NOBODY: u32 = 65_534;

/// A process that does one thing to a database.
pub struct Child {
    process: std::process::Child,
    /// A copy of this program where everybody may run it, for as long as the child lives.
    _copy: Option<tempfile::TempDir>,
}

impl Child {
    /// Opens the store, and has it until it is let go.
    pub fn opens(database: &Path) -> Self {
        Self::start(&std::env::current_exe().unwrap(), "opens", database, false)
    }

    /// The same, without the rights of root.
    pub fn opens_unprivileged(database: &Path) -> Self {
        let copy = tempfile::tempdir().unwrap();
        let program = copy.path().join("store");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        std::os::unix::fs::chown(copy.path(), Some(NOBODY), None).unwrap_or_default();
        Self { _copy: Some(copy), ..Self::start(&program, "opens", database, true) }
    }

    /// Lives the lives of [`lives`], and dies at the crash point `point`, the time that is `nth` (from 1).
    pub fn dies_at(database: &Path, point: &str, nth: usize) -> Self {
        Self::start(&std::env::current_exe().unwrap(), &format!("dies at {point} {nth}"), database, false)
    }

    /// Lives the lives of [`lives`], waits until the head file covers them, and dies.
    pub fn dies_when_its_head_is_written(database: &Path) -> Self {
        Self::start(&std::env::current_exe().unwrap(), "dies late", database, false)
    }

    fn start(program: &Path, role: &str, database: &Path, unprivileged: bool) -> Self {
        let mut command = Command::new(program);
        command.args(["--exact", "child::acts", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env(DATABASE, database).stdin(Stdio::piped()).stderr(Stdio::piped());
        command.stdout(Stdio::piped());
        if unprivileged && rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        loop {
            match command.spawn() {
                // A process that another test is starting right now still has the fresh copy open for writing.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                spawned => return Self { process: spawned.unwrap(), _copy: None },
            }
        }
    }

    /// Ends it and gives its exit code.
    pub fn let_go(self) -> i32 {
        self.let_go_and_say().0
    }

    /// Ends it, and gives its exit code and what it said.
    pub fn let_go_and_say(self) -> (i32, String) {
        let ended = self.process.wait_with_output().unwrap();
        (ended.status.code().unwrap_or(KILLED), String::from_utf8_lossy(&ended.stderr).into_owned())
    }

    /// Ends it, and gives its exit code and what it knew to be in the log: the call's id and version of each answer.
    pub fn let_go_and_acknowledge(self) -> (i32, Vec<(String, u64)>) {
        let ended = self.process.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        let acknowledged = said.lines().filter_map(|line| line.split_once(ACKNOWLEDGED)).map(|(_, what)| {
            let (id, version) = what.split_once(' ').unwrap();
            (id.to_owned(), version.parse().unwrap())
        });
        (ended.status.code().unwrap_or(KILLED), acknowledged.collect())
    }
}

/// What the child does; nothing in the test program itself.
#[test]
fn acts() {
    let (Ok(role), Some(database)) = (std::env::var(ROLE), std::env::var_os(DATABASE)) else {
        return assert!(std::env::var_os(ROLE).is_none(), "a child is told of its database");
    };
    let database = PathBuf::from(database);
    match role.split(' ').collect::<Vec<_>>()[..] {
        ["opens"] => opens(&database),
        ["dies", "late"] => dies_late(&database),
        ["dies", "at", point, nth] => dies(&database, point.to_owned(), nth.parse().unwrap()),
        _ => panic!("there is no role `{role}`"),
    }
}

fn opens(database: &Path) {
    let code = match SqliteStore::open(database, Options::default()) {
        Ok(_store) => {
            // Until the parent lets go.
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
            OPENED
        }
        Err(error) => {
            eprintln!("{error}");
            match error {
                OpenError::Locked { .. } => LOCKED,
                OpenError::Refused { .. } => REFUSED,
                OpenError::Storage { .. } | OpenError::DataLoss { .. } | OpenError::Full { .. } => STORAGE,
            }
        }
    };
    std::process::exit(code);
}

fn dies(database: &Path, point: String, nth: usize) {
    let passed = AtomicUsize::new(0);
    let crash_point = Arc::new(move |at: &'static str| {
        if at == point && passed.fetch_add(1, Ordering::SeqCst) + 1 == nth {
            kill_myself();
        }
    });
    let options = Options { crash_point: Some(crash_point), ..Options::default() };
    live_in(&SqliteStore::open(database, options).unwrap());
    std::process::exit(OPENED);
}

fn dies_late(database: &Path) {
    let store = SqliteStore::open(database, Options::default()).unwrap();
    live_in(&store);
    let head = database.with_extension("db-head");
    while !std::fs::read_to_string(&head).unwrap().contains("position 22\n") {
        std::thread::yield_now();
    }
    kill_myself();
}

/// As kill -9: nothing is closed, flushed or rolled back.
fn kill_myself() {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
}

fn live_in(store: &SqliteStore) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(lives(store, |acknowledged| {
        let line = format!("{ACKNOWLEDGED}{acknowledged}\n");
        std::io::stdout().write_all(line.as_bytes()).unwrap();
    }));
}

/// Two calls go through every kind of event there is; `acknowledged` is told each version that an append has answered.
async fn lives(store: &SqliteStore, acknowledged: impl Fn(&str)) {
    let ack = |call: &Snapshot| {
        let request = call.call.request().unwrap();
        acknowledged(&format!("{} {}", request.call_id, call.version));
    };
    for n in [1, 2] {
        let mut call = Snapshot::absent();
        for command in [
            submit(&request(n)),
            claim(10, "a"),
            fail(11, 1, true),
            submit(&request(n)),
            claim(12, "b"),
            recover(50, 2, Interrupted::Hold),
            not_happened(51),
            claim(52, "c"),
            recover(90, 3, Interrupted::Replay),
            claim(91, "d"),
            succeed(92, 4),
        ] {
            call = does(store, &call, command).await;
            ack(&call);
        }
    }
}

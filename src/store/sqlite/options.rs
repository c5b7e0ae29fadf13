//! How is a store opened, and why might it refuse?

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Called by the writer thread at named points of its work, for tests that kill the process there.
pub type CrashPoint = Arc<dyn Fn(&'static str) + Send + Sync>;
/// Called with what happened when the store cannot go on and must not answer.
pub type OnFatal = Arc<dyn Fn(&str) + Send + Sync>;

/// How long a statement waits for a lock that another program holds before the store says that it is unavailable: long
/// enough for a backup or a look with the sqlite3 shell, short enough for a client that waits for its answer.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The writer's page cache, in MiB: the inner pages of the indexes, and the leaves that recent calls fell on. Not larger,
/// because SQLite looks through the whole cache at a commit that has moved pages while the file is below 1 GiB (it numbers
/// one of them by the lock page, and then cuts the cache off behind the last page); the operating system's cache holds the
/// rest.
pub const PAGE_CACHE: NonZeroU32 = NonZeroU32::new(32).expect("32 is not zero");

/// How a store is opened.
#[derive(Clone)]
pub struct Options {
    /// Who opens it, as the next one will read in the lock file.
    pub holder: Holder,
    /// Open a database that has lost acknowledged work, and begin anew from what is there.
    pub accept_data_loss: bool,
    /// Open a database on a network file system, whose locks and fsync cannot be trusted.
    pub allow_network_filesystem: bool,
    /// How long to wait for another program's lock.
    pub busy_timeout: Duration,
    /// How much of the database the writer keeps at hand, in MiB. More is for databases of many millions of calls, where each
    /// new key falls on a page of its index that has not been seen for long.
    pub page_cache: NonZeroU32,
    /// What to do at the named points `store.…`; costs nothing where there is nothing.
    pub crash_point: Option<CrashPoint>,
    /// What to do after an error that leaves open whether an append is durable. It must not return; if it does, as in a
    /// test, the waiting appends are never answered.
    pub on_fatal: OnFatal,
    /// A fault that is put in on purpose, so that tests of durability can be seen to notice it.
    #[cfg(feature = "testing")]
    pub weakness: Option<Weakness>,
}

/// What a store can be made to do wrong, in builds with the feature `testing` alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weakness {
    /// Commits are not synced.
    NoSync,
    /// What a crash left in the WAL is served as it is, durable or not.
    NoCheckpointAtStart,
}

impl Weakness {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "no-sync" => Some(Self::NoSync),
            "no-checkpoint-at-start" => Some(Self::NoCheckpointAtStart),
            _ => None,
        }
    }
}

impl Options {
    /// The options of a server, whose lock file names `holder`.
    pub fn new(holder: Holder) -> Self {
        Self {
            holder,
            accept_data_loss: false,
            allow_network_filesystem: false,
            busy_timeout: BUSY_TIMEOUT,
            page_cache: PAGE_CACHE,
            crash_point: None,
            on_fatal: Arc::new(|_| std::process::abort()),
            #[cfg(feature = "testing")]
            weakness: None,
        }
    }

    #[cfg(feature = "testing")]
    pub(super) fn has(&self, weakness: Weakness) -> bool {
        self.weakness == Some(weakness)
    }

    #[cfg(not(feature = "testing"))]
    pub(super) fn has(&self, _: Weakness) -> bool {
        false
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new(Holder::this_process())
    }
}

/// How a holder begins when it is written out.
const PROCESS: &str = "process ";

/// Who holds a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The id that this run of the process drew, for a process id comes back (in a container it is always 1).
    pub boot: Option<String>,
    /// When it opened the database, as people read it.
    pub since: Option<String>,
}

impl Holder {
    /// This process, of which nothing else is known.
    pub fn this_process() -> Self {
        Self { pid: std::process::id(), boot: None, since: None }
    }

    /// The process that a holder, written out, names.
    pub fn pid_in(written: &str) -> Option<u32> {
        written.strip_prefix(PROCESS)?.split(',').next()?.parse().ok()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PROCESS}{}", self.pid)?;
        if let Some(boot) = &self.boot {
            write!(f, ", boot {boot}")?;
        }
        if let Some(since) = &self.since {
            write!(f, ", since {since}")?;
        }
        Ok(())
    }
}

/// Why a store was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another server has it.
    #[error("{} is in use by another server ({by}); the lock is {}", .path.display(), .lock.display())]
    Locked {
        /// The database.
        path: PathBuf,
        /// The lock file.
        lock: PathBuf,
        /// What the lock file says.
        by: String,
    },
    /// It cannot be read or written as it has to be.
    #[error("{}: {problem}", .path.display())]
    Storage {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It could be opened, but should not be, by this program or in this place.
    #[error("{}: {problem}: {way_out}", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: String,
        /// What to do about it.
        way_out: String,
    },
    /// Its file system has no space left for what even a reader needs.
    #[error("{}: there is no space left on its file system: make room", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// It lacks what its head file says was acknowledged.
    #[error("{} may have lost acknowledged work: {loss}", .path.display())]
    DataLoss {
        /// The database.
        path: PathBuf,
        /// What is missing.
        loss: DataLoss,
    },
}

/// What a database lacks, as far as its head file tells.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataLoss {
    /// The log ends before an event that was durable.
    #[error(
        "its log ends at position {has}, but position {head} was durable: {} events are missing \
         (an old copy put back, a deleted WAL, or a damaged file)", head - has
    )]
    Behind {
        /// The last position there is.
        has: u64,
        /// The last position that was durable, at least.
        head: u64,
    },
    /// The event at the head's position is another one.
    #[error("its event at position {head} is not the one that was durable (another or a rewritten database)")]
    Differs {
        /// Where.
        head: u64,
    },
    /// Nothing says how many events there should be.
    #[error(
        "it has {has} events, but its head file {problem}, so nothing tells whether that is all \
         (was the database copied without the -head beside it?)"
    )]
    NoHead {
        /// The last position there is.
        has: u64,
        /// What is wrong with the head file.
        problem: String,
    },
}

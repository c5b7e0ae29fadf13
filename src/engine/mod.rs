//! Makes things happen: load → decide → append, for everybody who wants something of a call.
//!
//! ```text
//!            submit                        ┌──────────── pool ────────────┐
//!  client ───────────▶ execute ──▶ offer ─▶│ lane of a tool ─▶ worker ─▶ tool
//!                         │                └─────▲──────────────┬─────────┘
//!                 decide  │                      │ due          │ claim · succeed · fail
//!                 append  ▼                      │              ▼
//!                       store ◀──────────────── feed           execute
//!                         ▲                                      │
//!                         └── recover (at start, every 200 ms)   └─▶ publish ─▶ whoever waits
//! ```
//!
//! There is one way to change a call: `execute`. The pool hands calls from memory to workers; what memory has no
//! room for, or what a crash left behind, the feed finds in the store. Losing everything in memory loses nothing.

pub mod clock;
pub mod crash;
pub mod duration;
mod execute;
mod feed;
pub mod ids;
pub mod observe;
mod pool;
mod read;
mod recover;
mod resolve;
mod submit;
pub mod tools;
pub mod trace;
mod wait;
mod worker;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::clock::Clock;
use self::crash::CrashPoints;
use self::observe::{Health, Observe};
use self::pool::Pool;
use self::tools::Registry;
use self::trace::Traces;
use self::wait::Waiters;
use crate::domain::id::{Owner, ToolName};
use crate::domain::policy::{DEFAULT_LEASE, DEFAULT_MAX_ATTEMPTS, DEFAULT_TIME_LIMIT, Policy};
use crate::domain::refusal::Refusal;
pub use crate::store::past::{Past, no_such_version};
pub use crate::store::{Filter, Recorded, Snapshot, Stats, Store, StoreError};
pub use resolve::{Outcome, Settlement};
pub use submit::{Submission, Submitted};
pub use wait::Until;

/// How many submits may be under way at once: several full batches of the writer, so that a queue can form but an answer
/// never waits behind more than a fraction of a second of work.
pub const MAX_SUBMITS: usize = 4096;
/// How long a submit waits for its turn before it is refused. To refuse one costs a third of what it costs to accept it, so
/// clients that come again at once would take the server from those it could serve; this way each comes back so seldom that
/// little is lost. In that time the server accepts more than the connections that it lets in can ask for.
pub const SUBMIT_PATIENCE: Duration = Duration::from_secs(2);

/// What an engine is set up with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who this process is, in the log and to the next process.
    pub owner: Owner,
    /// How many tools may run at once, those aside that do not wait for anything.
    pub workers: NonZeroUsize,
    /// How long a claim keeps all others away.
    pub lease: Duration,
    /// How long an attempt of a tool that states no limit of its own may run.
    pub time_limit: Duration,
    /// How many attempts a call may have.
    pub max_attempts: u32,
    /// How many submits may be under way at once; the next ones wait for their turn.
    pub max_submits: usize,
    /// How long they wait, before they are refused as overloaded.
    pub submit_patience: Duration,
    /// Where the time comes from.
    pub clock: Clock,
    /// Where to die on purpose; nowhere, unless armed.
    pub crash: CrashPoints,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            owner: ids::owner(),
            workers: const { NonZeroUsize::new(8).expect("eight is not zero") },
            lease: DEFAULT_LEASE,
            time_limit: DEFAULT_TIME_LIMIT,
            max_attempts: DEFAULT_MAX_ATTEMPTS,
            max_submits: MAX_SUBMITS,
            submit_patience: SUBMIT_PATIENCE,
            clock: Clock::System,
            crash: CrashPoints::default(),
        }
    }
}

impl Settings {
    /// Whether they go together, and with these tools.
    ///
    /// # Errors
    /// [`SettingsError`] says which do not.
    pub fn check(&self, tools: &Registry) -> Result<(), SettingsError> {
        if self.max_attempts == 0 {
            return Err(SettingsError::NoAttempts);
        }
        for (name, tool) in tools.iter() {
            if tool.terms().max_attempts == Some(0) {
                return Err(SettingsError::NoAttempts);
            }
            let limit = tool.terms().time_limit.unwrap_or(self.time_limit);
            if self.lease <= limit {
                let tool = name.to_string();
                return Err(SettingsError::LeaseTooShort { lease: self.lease, tool, limit });
            }
        }
        Ok(())
    }
}

/// Settings that cannot work together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// An attempt could outlive its lease, so another could start beside it.
    #[error(
        "the lease ({lease:?}) must be longer than the time limit of the tool `{tool}` ({limit:?}): \
         else a second attempt could start while the first still runs"
    )]
    LeaseTooShort {
        /// The lease.
        lease: Duration,
        /// Whose limit it is.
        tool: String,
        /// The limit.
        limit: Duration,
    },
    /// No call could ever run.
    #[error("the number of attempts must be at least 1")]
    NoAttempts,
}

/// Why the engine did not do it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The request cannot be carried out as it is; nothing was stored, its key stays free.
    #[error("{0}")]
    Invalid(String),
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Too much is under way; nothing was written.
    #[error("too many requests are under way; try again in a moment")]
    Overloaded,
    /// The store failed; not acknowledged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A fault of our own.
    #[error("internal fault: {0}")]
    Internal(String),
}

/// The engine. Clones are handles of the same one.
pub struct Engine<S: Store> {
    inner: Arc<Inner<S>>,
}

impl<S: Store> Clone for Engine<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

struct Inner<S: Store> {
    store: S,
    tools: Registry,
    settings: Settings,
    pool: Pool,
    waiters: Arc<Waiters>,
    observer: Arc<dyn Observe>,
    health: Health,
    traces: Traces,
    submits: Arc<Semaphore>,
    /// Cancelled when nothing new may be claimed.
    stop: CancellationToken,
    /// All that runs in the background; empty once the engine has drained.
    tasks: TaskTracker,
}

impl<S: Store> Engine<S> {
    /// An engine over `store` that runs `tools`. Nothing runs before [`Engine::start`].
    ///
    /// # Errors
    /// [`SettingsError`] says which settings do not go together.
    pub fn new(
        store: S,
        tools: Registry,
        settings: Settings,
        observer: Arc<dyn Observe>,
    ) -> Result<Self, SettingsError> {
        settings.check(&tools)?;
        let pool = Pool::new(&tools, settings.workers);
        let inner = Inner {
            store,
            tools,
            pool,
            waiters: Arc::default(),
            observer,
            health: Health::default(),
            traces: Traces::default(),
            submits: Arc::new(Semaphore::new(settings.max_submits)),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            settings,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Reclaims what a former process left running, then starts to run calls. Returns once all of it is reclaimed.
    ///
    /// # Errors
    /// If the store fails while reclaiming.
    pub async fn start(&self) -> Result<(), EngineError> {
        let reclaimed = self.reclaim_all().await?;
        if reclaimed > 0 {
            tracing::info!(reclaimed, "took back calls that a former process was running");
        }
        self.spawn_lanes();
        self.inner.tasks.spawn(self.clone().sweep());
        self.inner.health.started();
        Ok(())
    }

    /// Claims nothing more from now on, and answers all who wait for a call with what it is now. Requests are still
    /// accepted and running attempts go on, until [`Engine::stop`].
    pub fn wind_down(&self) {
        self.inner.health.draining();
        self.inner.stop.cancel();
    }

    /// Stops claiming at once, lets running attempts finish for at most `drain`, then closes the store. What is left
    /// waits in the store for the next start. Returns whether everything that ran has finished.
    pub async fn stop(&self, drain: Duration) -> bool {
        self.wind_down();
        self.inner.tasks.close();
        let drained = tokio::time::timeout(drain, self.inner.tasks.wait()).await.is_ok();
        self.inner.store.close().await;
        drained
    }

    /// Whether it can take work, and if not, why.
    pub fn health(&self) -> Result<(), String> {
        self.inner.health.check()
    }

    /// The names of the tools that are configured.
    pub fn tool_names(&self) -> Vec<String> {
        self.inner.tools.names()
    }

    /// The policy of the tool with this name, if it is configured.
    fn policy_of(&self, tool: &ToolName) -> Option<Policy> {
        self.inner.tools.get(tool).map(|tool| self.policy(tool.as_ref()))
    }

    fn policy(&self, tool: &dyn tools::Tool) -> Policy {
        let terms = tool.terms();
        Policy {
            side_effect: terms.side_effect,
            interrupted: terms.interrupted,
            time_limit: terms.time_limit.unwrap_or(self.inner.settings.time_limit),
            lease: self.inner.settings.lease,
            max_attempts: terms.max_attempts.unwrap_or(self.inner.settings.max_attempts),
        }
    }
}

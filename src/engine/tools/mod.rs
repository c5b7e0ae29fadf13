//! What runs: the trait that a tool implements, and the registry of those that are configured.

mod charge;
pub mod declared;
mod fail;
pub mod http;
mod secret;
mod send_email;
mod sleep;
mod unfit;

use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use charge::Charge;
pub use fail::Fail;
pub use secret::Secret;
pub use send_email::SendEmail;
pub use sleep::Sleep;
pub use unfit::Unfit;

pub use crate::domain::backoff::Backoff;
pub use crate::domain::call::Failure;
use crate::domain::id::{CallId, EffectId, InvalidId, ToolName};
use crate::domain::json::{Canonical, Value};
pub use crate::domain::policy::{Interrupted, Retries};
use crate::engine::trace::TraceParent;

/// Something a call can run.
///
/// The engine claims the call before it runs the tool and records the outcome after it, so a process that dies in
/// between leaves an attempt whose outcome is unknown. [`Terms::interrupted`] says what that means for this tool.
pub trait Tool: Send + Sync + 'static {
    /// Its name: ASCII letters, digits, `_`, `-` and `.`.
    fn name(&self) -> &str;

    /// The terms it runs under.
    fn terms(&self) -> Terms;

    /// Whether it could run with these args. Asked before a key is taken, so a refused request leaves its key free.
    ///
    /// # Errors
    /// [`InvalidArgs`] names the member and says what is expected.
    fn check(&self, args: &Value) -> Result<(), InvalidArgs>;

    /// Runs one attempt. Must not block its thread; is dropped at its time limit; may panic, which ends the attempt
    /// as interrupted.
    fn run(&self, invocation: Invocation) -> Running<'_>;

    /// Asks the downstream whether the effect of this attempt, whose outcome is unknown, happened. Must change nothing there
    /// and not block its thread; is dropped at [`Probes::time_limit`]. Called only if the terms have [`Terms::probes`].
    fn probe(&self, _attempt: Invocation) -> Probing<'_> {
        Box::pin(ready(Finding::Unknown { message: "this tool cannot be asked".into() }))
    }
}

/// An attempt under way.
pub type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// A question to the downstream under way.
pub type Probing<'a> = Pin<Box<dyn Future<Output = Finding> + Send + 'a>>;

/// The terms a tool runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Whether its success owes an effect.
    pub side_effect: bool,
    /// What an interrupted attempt means. A tool with a side effect that is not sure says `Hold`.
    pub interrupted: Interrupted,
    /// How long an attempt may run, if the tool has a limit of its own; must be shorter than the lease.
    pub time_limit: Option<Duration>,
    /// Whether an attempt is a mere computation: it waits for nothing, does nothing outside this process and cannot end
    /// it. It needs no worker to itself then, and its claim and its outcome are one append.
    pub local: bool,
    /// How many attempts may be under way at once, apart from those of all other tools; nothing if it shares the server's
    /// workers with the others that say nothing.
    pub concurrency: Option<NonZeroUsize>,
    /// How many attempts a call may have, if that is another number than the server's.
    pub max_attempts: Option<u32>,
    /// How the server itself tries a failed call again; nothing if only a request with the call's key does.
    pub retries: Option<Retries>,
    /// How its downstream can be asked about an attempt whose outcome is unknown; nothing if it cannot.
    pub probes: Option<Probes>,
}

/// When the downstream is asked about a held call, and from when on its "no" counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probes {
    /// How long the downstream may take to show an effect, once the request for it has reached its end: a "no" counts only
    /// when this and the attempt's time limit have passed.
    pub settle: Duration,
    /// How long one question may take.
    pub time_limit: Duration,
    /// The waits between questions.
    pub backoff: Backoff,
}

/// Those of a tool of which nothing is known: it has a side effect, and nobody may run it twice.
impl Default for Terms {
    fn default() -> Self {
        Self {
            side_effect: true,
            interrupted: Interrupted::Hold,
            time_limit: None,
            local: false,
            concurrency: None,
            max_attempts: None,
            retries: None,
            probes: None,
        }
    }
}

/// One attempt, as its tool sees it.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Whose attempt it is.
    pub call_id: CallId,
    /// The id of the effect: the same for all attempts of the call. Hand it to the downstream as its idempotency key.
    pub effect_id: EffectId,
    /// Counted from 1.
    pub attempt: u32,
    /// The args, in canonical form.
    pub args: Canonical,
    /// The trace it is part of: the client's, if it named one and the server has not been started again since.
    pub trace: TraceParent,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It happened.
    Succeeded {
        /// What the client gets.
        result: Value,
        /// What was moved, for tools that move an amount.
        amount: Option<i64>,
    },
    /// It did not happen.
    Failed(Failure),
    /// It did not happen, and the downstream says when to ask again.
    NotNow {
        /// Why not.
        failure: Failure,
        /// From now.
        after: Duration,
    },
    /// The tool cannot tell.
    Unknown {
        /// Why not, for people.
        message: String,
    },
}

/// What the downstream says of an attempt whose outcome was unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It happened.
    Happened {
        /// What the client gets.
        result: Value,
        /// The downstream's answer, for people.
        evidence: String,
    },
    /// It has not happened so far.
    NotHappened {
        /// The downstream's answer, for people.
        evidence: String,
    },
    /// The downstream could not be asked, or did not say.
    Unknown {
        /// Why not, for people.
        message: String,
    },
}

/// Args that a tool cannot run with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct InvalidArgs {
    path: String,
    problem: String,
}

impl InvalidArgs {
    /// Says which member is wrong, and how; an empty `member` is the args themselves.
    pub fn new(member: &str, problem: impl Into<String>) -> Self {
        let path = if member.is_empty() { "args".into() } else { format!("args.{member}") };
        Self { path, problem: problem.into() }
    }

    /// Says what is wrong at a path that begins with `args`.
    fn at(path: String, problem: String) -> Self {
        Self { path, problem }
    }

    /// A member of another kind than the one expected.
    fn expected(member: &str, expected: &str, found: Option<&Value>) -> Self {
        let found = found.map_or("nothing", Value::kind_name);
        Self::new(member, format!("expected {expected}, found {found}"))
    }
}

/// Args were checked before the key was taken; a tool that has changed its mind since fails its old calls for good.
impl From<InvalidArgs> for Outcome {
    fn from(invalid: InvalidArgs) -> Self {
        Self::Failed(Failure {
            code: "bad_args".into(),
            message: invalid.to_string(),
            retryable: false,
            cause: None,
        })
    }
}

/// The tools that are configured.
#[derive(Clone, Default)]
pub struct Registry(BTreeMap<ToolName, Arc<dyn Tool>>);

impl Registry {
    /// The four samples, one for each path an execution can take.
    pub fn samples() -> Self {
        let mut registry = Self::default();
        for tool in [Arc::new(Charge) as Arc<dyn Tool>, Arc::new(SendEmail), Arc::new(Sleep), Arc::new(Fail)]
        {
            registry.register(tool).expect("the sample tools have valid names");
        }
        registry
    }

    /// Adds a tool, in place of one with the same name.
    ///
    /// # Errors
    /// If its name is not one.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), InvalidId> {
        self.0.insert(ToolName::parse(tool.name())?, tool);
        Ok(())
    }

    /// The terms of the tool with this name, if it is registered.
    pub fn terms(&self, name: &ToolName) -> Option<Terms> {
        self.get(name).map(|tool| tool.terms())
    }

    /// Every tool and its terms, by name.
    pub fn all(&self) -> impl Iterator<Item = (&ToolName, Terms)> {
        self.0.iter().map(|(name, tool)| (name, tool.terms()))
    }

    pub(super) fn get(&self, name: &ToolName) -> Option<&Arc<dyn Tool>> {
        self.0.get(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ToolName, &Arc<dyn Tool>)> {
        self.0.iter()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().map(ToString::to_string).collect()
    }
}

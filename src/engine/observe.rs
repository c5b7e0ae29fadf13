//! What happened, as values: metrics and log lines in production, awaited in tests.

use std::sync::Mutex;
use std::time::Duration;

use crate::domain::event::Event;
use crate::domain::id::CallId;

/// Something the engine did or met.
#[derive(Debug)]
pub enum Happening<'a> {
    /// Events became durable.
    Appended {
        /// Whose.
        call_id: CallId,
        /// Which.
        events: &'a [Event],
        /// How long the store took.
        took: Duration,
    },
    /// The tool of an attempt returned, panicked or ran out of time.
    ToolEnded {
        /// Which tool.
        tool: &'a str,
        /// `succeeded`, `failed` or the word of an interruption.
        outcome: &'static str,
        /// How long it ran.
        ran: Duration,
    },
    /// A report came from an attempt that may not finish its call any more, and was refused.
    StaleReport {
        /// Which call.
        call_id: CallId,
        /// Which attempt reported.
        attempt: u32,
        /// How many attempts there were.
        current: u32,
    },
    /// A request was refused because too much was under way.
    Overloaded,
    /// A request repeated a known call.
    Replayed,
    /// A request used a known key for something else.
    Conflict,
    /// The store failed.
    StoreFailed {
        /// How.
        error: &'a str,
    },
}

/// Whoever wants to know. Called on the path of every call: must not block.
pub trait Observe: Send + Sync + 'static {
    /// Takes note.
    fn observe(&self, happening: &Happening<'_>);
}

/// Nobody wants to know.
impl Observe for () {
    fn observe(&self, _: &Happening<'_>) {}
}

/// Whether the engine can take work.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    started: bool,
    draining: bool,
    /// What the store said last, if it failed.
    store_fault: Option<String>,
}

impl Health {
    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub(super) fn started(&self) {
        self.with(|state| state.started = true);
    }

    pub(super) fn draining(&self) {
        self.with(|state| state.draining = true);
    }

    /// Notes that the store works; returns what was wrong with it before.
    pub(super) fn store_works(&self) -> Option<String> {
        self.with(|state| state.store_fault.take())
    }

    /// Notes a fault of the store; returns whether it is news.
    pub(super) fn store_failed(&self, fault: &str) -> bool {
        self.with(|state| state.store_fault.replace(fault.into()).as_deref() != Some(fault))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.with(|state| match state {
            State { draining: true, .. } => Err("shutting down".into()),
            State { started: false, .. } => Err("starting".into()),
            State { store_fault: Some(fault), .. } => Err(fault.clone()),
            State { .. } => Ok(()),
        })
    }
}

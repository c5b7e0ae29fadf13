//! What happened, as values: metrics and log lines in production, awaited in tests.

use std::sync::Mutex;
use std::time::Duration;

use super::clock::Stopwatch;
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

/// How long an append that failed counts against the store while nobody tries another. Longer than a store waits for a
/// lock, so that an outage shows without gaps while something keeps trying; and not for ever, because a server that is
/// taken out of service for it gets no request that could show that all is well again.
const WRITE_FAULT_LASTS: Duration = Duration::from_secs(10);

/// What the store was asked to do. It may be able to do one and not the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Whether the engine can take work.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    started: bool,
    draining: bool,
    /// What the store said when it was last read, if that failed.
    read_fault: Option<String>,
    /// What it said when it was last written to, if that failed, and when.
    write_fault: Option<(String, Stopwatch)>,
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
    pub(super) fn store_works(&self, access: Access) -> Option<String> {
        self.with(|state| match access {
            Access::Read => state.read_fault.take(),
            Access::Write => state.write_fault.take().map(|(fault, _)| fault),
        })
    }

    /// Notes a fault of the store; returns whether it is news.
    pub(super) fn store_failed(&self, access: Access, fault: &str) -> bool {
        self.with(|state| {
            let before = match access {
                Access::Read => state.read_fault.replace(fault.into()),
                Access::Write => {
                    state.write_fault.replace((fault.into(), Stopwatch::start())).map(|(fault, _)| fault)
                }
            };
            before.as_deref() != Some(fault)
        })
    }

    /// Why it cannot take work, in words that may leave the process: what the store said names files, and is in the log.
    pub(super) fn check(&self) -> Result<(), String> {
        let why = self.with(|state| match state {
            State { draining: true, .. } => Some("shutting down"),
            State { started: false, .. } => Some("starting"),
            State { read_fault: Some(_), .. } => Some("the store cannot be read; the server's log says why"),
            State { write_fault: Some((_, since)), .. } if since.elapsed() < WRITE_FAULT_LASTS => {
                Some("the store cannot be written to; the server's log says why")
            }
            State { .. } => None,
        });
        why.map_or(Ok(()), |why| Err(why.into()))
    }
}

//! What a law looks at: plain values, wherever they come from.

use super::{Law, Violation};
use crate::domain::call::{Call, Failure, Status};
use crate::domain::event::Event;
use crate::domain::evolve::{IllegalEvent, evolve};
use crate::domain::id::{CallId, Position, Version};
use crate::domain::json::Canonical;
use crate::domain::time::Timestamp;

/// An event with its places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Its number in the whole log.
    pub position: Position,
    /// Its number in the call.
    pub version: Version,
    /// What happened.
    pub event: Event,
}

/// One call's events and the state after each.
#[derive(Debug, Clone)]
pub struct History {
    call_id: CallId,
    events: Vec<Happened>,
    /// The state after each event, up to the first that is illegal.
    states: Vec<Call>,
    illegal: Option<IllegalEvent>,
}

impl History {
    /// Of a call that has no event yet.
    pub const fn new(call_id: CallId) -> Self {
        Self { call_id, events: Vec::new(), states: Vec::new(), illegal: None }
    }

    /// Of a call with these events, oldest first.
    pub fn of(call_id: CallId, events: impl IntoIterator<Item = Happened>) -> Self {
        let mut history = Self::new(call_id);
        events.into_iter().for_each(|happened| history.push(happened));
        history
    }

    /// Takes in the next event. After one that is illegal nothing more is folded.
    pub fn push(&mut self, happened: Happened) {
        if self.illegal.is_none() {
            match evolve(self.last(), &happened.event) {
                Ok(state) => self.states.push(state),
                Err(illegal) => self.illegal = Some(illegal),
            }
        }
        self.events.push(happened);
    }

    /// Whose history it is.
    pub const fn call_id(&self) -> CallId {
        self.call_id
    }

    /// The events, oldest first.
    pub fn events(&self) -> &[Happened] {
        &self.events
    }

    /// The state after the last event, or after the last one that was legal.
    pub fn last(&self) -> &Call {
        self.states.last().unwrap_or(&Call::Absent)
    }

    /// The state after the last event up to this position of the log.
    pub fn as_of(&self, position: Position) -> &Call {
        let events = self.events.iter().take_while(|happened| happened.position <= position).count();
        match events.min(self.states.len()) {
            0 => &Call::Absent,
            folded => &self.states[folded - 1],
        }
    }

    /// The state at this version; nothing if the call does not have it, or the fold does not reach it.
    pub fn at(&self, version: Version) -> Option<&Call> {
        let place = self.events.iter().position(|happened| happened.version == version)?;
        self.states.get(place)
    }

    /// The number of the last event.
    pub fn version(&self) -> Version {
        self.events.last().map_or(Version::NONE, |happened| happened.version)
    }

    /// The first event that cannot have happened, and why.
    pub fn illegal(&self) -> Option<(&Happened, &IllegalEvent)> {
        Some((self.events.get(self.states.len())?, self.illegal.as_ref()?))
    }

    /// The start of a violation by this call's event `happened`.
    pub(super) fn broken_at(
        &self,
        law: Law,
        happened: &Happened,
        member: &'static str,
        problem: String,
    ) -> Violation {
        Violation::new(law, member, problem).of(self.call_id).at(happened.version).in_log(happened.position)
    }
}

/// The call as it is stored beside the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its state.
    pub call: Call,
    /// The number of its last event.
    pub version: Version,
}

/// An effect as it is stored beside the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEffect {
    /// Its id, as it is stored.
    pub effect_id: String,
    /// What was moved, for tools that move an amount.
    pub amount: Option<i64>,
}

/// What a client read in a 2xx answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The version the answer was of.
    pub version: Version,
    /// What it said.
    pub answer: Answer,
}

/// The part of a call that its clients act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: Status,
    /// Whether it can never change any more.
    pub is_final: bool,
    /// The number of attempts.
    pub attempt: u32,
    /// The result, if it succeeded.
    pub result: Option<Canonical>,
    /// The error, if it failed.
    pub error: Option<Failure>,
}

impl Answer {
    /// What clients are told of this call; nothing of an absent one.
    pub fn of(call: &Call) -> Option<Self> {
        let (result, error) = match call {
            Call::Succeeded { result, .. } => (Some(result.clone()), None),
            Call::Failed { error, .. } => (None, Some(error.clone())),
            Call::Absent | Call::Pending { .. } | Call::Running { .. } | Call::Held { .. } => (None, None),
        };
        Some(Self {
            status: call.status()?,
            is_final: call.is_final(),
            attempt: call.attempts(),
            result,
            error,
        })
    }
}

/// All that is known about one call. What nobody looked at is absent, and then nothing is said about it.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Its events.
    pub history: &'a History,
    /// The row that is stored for it.
    pub stored: Option<&'a Stored>,
    /// The effects that are stored for it.
    pub effects: Option<&'a [StoredEffect]>,
    /// What clients were told.
    pub observed: &'a [Observed],
    /// The instant at which a server has been at work for a while and no fault is going on.
    pub now: Option<Timestamp>,
}

impl<'a> Facts<'a> {
    /// What the history alone tells.
    pub const fn of(history: &'a History) -> Self {
        Self { history, stored: None, effects: None, observed: &[], now: None }
    }
}

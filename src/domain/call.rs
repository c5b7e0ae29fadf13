//! What a call can be: each state holds exactly its data.

use std::fmt;
use std::sync::Arc;

use super::event::Interruption;
use super::fingerprint::Fingerprint;
use super::id::{CallId, ClientId, EffectId, IdemKey, Owner, ToolName};
use super::json::Canonical;
use super::time::Timestamp;

/// What a client asked for. Fixed when the call is created, shared by all its states.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// What the key leads to.
    pub call_id: CallId,
    /// What the client calls it.
    pub key: IdemKey,
    /// What is to run.
    pub tool: ToolName,
    /// With what: an object, in canonical form.
    pub args: Canonical,
    /// Tells the same request again from another one under the same key.
    pub fingerprint: Fingerprint,
    /// Who sent it first, if it said so.
    pub client_id: Option<ClientId>,
    /// The client's own number for it, if it gave one.
    pub seq: Option<u64>,
    /// When it was accepted.
    pub created_at: Timestamp,
}

impl Request {
    /// The id that every attempt gives to the downstream.
    pub fn effect_id(&self) -> EffectId {
        self.call_id.effect_id()
    }
}

/// One claimed execution of a call. Its number is the fencing token: only the current one may finish the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Counted from 1, never reset.
    pub number: u32,
    /// Whether the tool that was claimed for has a side effect, so that a success owes exactly one effect.
    pub side_effect: bool,
}

/// The side effect of a call, recorded once. Its id follows from the call's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Effect {
    /// What was moved, for tools that move an amount.
    pub amount: Option<i64>,
}

/// Why a call failed, as its client sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Failure {
    /// Stable, for programs.
    pub code: String,
    /// For people.
    pub message: String,
    /// Whether the same key may try again.
    pub retryable: bool,
    /// The tool's own code, where ours is `retry_exhausted`.
    pub cause: Option<String>,
}

impl Failure {
    /// The code of a call that used up its attempts.
    pub const RETRY_EXHAUSTED: &str = "retry_exhausted";

    /// This failure as the last one: final, with the tool's own code kept as the cause.
    #[must_use]
    pub fn exhausted(self, attempts: u32) -> Self {
        Self {
            code: Self::RETRY_EXHAUSTED.into(),
            message: format!("all {attempts} attempts are used up; the last one: {}", self.message),
            retryable: false,
            cause: Some(self.code),
        }
    }
}

/// A call's state: the fold of its events.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call {
    /// No event yet.
    Absent,
    /// Waits to be claimed.
    Pending {
        /// What was asked.
        request: Arc<Request>,
        /// How many attempts there were.
        attempts: u32,
        /// The last attempt, where it was recovered and may still report.
        open: Option<Attempt>,
        /// Not to be claimed before this instant.
        due: Option<Timestamp>,
    },
    /// An attempt holds the lease.
    Running {
        /// What was asked.
        request: Arc<Request>,
        /// The current attempt.
        attempt: Attempt,
        /// Who runs it.
        owner: Owner,
        /// Until when nobody else may.
        lease_until: Timestamp,
    },
    /// Running, but nobody may run it: the attempt's outcome is unknown and another one could double the effect.
    Held {
        /// What was asked.
        request: Arc<Request>,
        /// The attempt whose outcome is unknown.
        attempt: Attempt,
        /// Since when.
        since: Timestamp,
        /// What interrupted the attempt.
        reason: Interruption,
    },
    /// Final: it happened.
    Succeeded {
        /// What was asked.
        request: Arc<Request>,
        /// How many attempts there were.
        attempts: u32,
        /// What the tool answered.
        result: Canonical,
        /// What it did, if its tool has a side effect.
        effect: Option<Effect>,
    },
    /// It failed; final unless the error is retryable.
    Failed {
        /// What was asked.
        request: Arc<Request>,
        /// How many attempts there were.
        attempts: u32,
        /// Why.
        error: Failure,
    },
}

impl Call {
    /// What was asked; nothing for an absent call.
    pub fn request(&self) -> Option<&Arc<Request>> {
        match self {
            Self::Absent => None,
            Self::Pending { request, .. }
            | Self::Running { request, .. }
            | Self::Held { request, .. }
            | Self::Succeeded { request, .. }
            | Self::Failed { request, .. } => Some(request),
        }
    }

    /// How many attempts were claimed so far, which is also the number of the current one.
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Absent => 0,
            Self::Pending { attempts, .. }
            | Self::Succeeded { attempts, .. }
            | Self::Failed { attempts, .. } => *attempts,
            Self::Running { attempt, .. } | Self::Held { attempt, .. } => attempt.number,
        }
    }

    /// The attempt that may still finish this call.
    pub fn open_attempt(&self) -> Option<Attempt> {
        match self {
            Self::Running { attempt, .. } | Self::Held { attempt, .. } => Some(*attempt),
            Self::Pending { open, .. } => *open,
            Self::Absent | Self::Succeeded { .. } | Self::Failed { .. } => None,
        }
    }

    /// Whether its answer can never change any more.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Succeeded { .. } => true,
            Self::Failed { error, .. } => !error.retryable,
            Self::Absent | Self::Pending { .. } | Self::Running { .. } | Self::Held { .. } => false,
        }
    }

    /// The word clients see; nothing for an absent call. A held call is running to them, with `held` beside it.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Absent => None,
            Self::Pending { .. } => Some(Status::Pending),
            Self::Running { .. } | Self::Held { .. } => Some(Status::Running),
            Self::Succeeded { .. } => Some(Status::Succeeded),
            Self::Failed { .. } => Some(Status::Failed),
        }
    }

    /// The state's name in the rules, for messages.
    pub fn state_name(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Pending { .. } => "pending",
            Self::Running { .. } => "running",
            Self::Held { .. } => "held",
            Self::Succeeded { .. } => "final",
            Self::Failed { error, .. } if error.retryable => "failed-retryable",
            Self::Failed { .. } => "final",
        }
    }
}

/// The four words clients and tables use for a call's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Waits to be claimed.
    Pending,
    /// Claimed, or held.
    Running,
    /// Final, with a result.
    Succeeded,
    /// Failed, final or not.
    Failed,
}

impl Status {
    /// All of them, in the order a call goes through them.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    /// The status with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

//! The log's vocabulary: what can have happened, in the past tense. No others.

use std::sync::Arc;

use super::call::{Attempt, Effect, Failure, Request};
use super::id::Owner;
use super::json::Canonical;
use super::time::Timestamp;

/// One change of one call. It carries all that `evolve` needs, so the log can be read without any configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The key was taken.
    Created {
        /// What was asked; its `created_at` is the instant of this event.
        request: Arc<Request>,
    },
    /// An attempt began.
    Claimed {
        /// When.
        at: Timestamp,
        /// Which attempt.
        attempt: Attempt,
        /// Who runs it.
        owner: Owner,
        /// Until when nobody else may.
        lease_until: Timestamp,
    },
    /// It happened.
    Succeeded {
        /// When it was recorded.
        at: Timestamp,
        /// The attempt that did it.
        attempt: u32,
        /// What the tool answered.
        result: Canonical,
        /// What it did, if its tool has a side effect.
        effect: Option<Effect>,
        /// Who says so.
        by: Verdict,
    },
    /// It did not happen, or nobody will try again.
    Failed {
        /// When it was recorded.
        at: Timestamp,
        /// The number of attempts so far.
        attempt: u32,
        /// Why, and whether the same key may try again.
        error: Failure,
        /// Who says so.
        by: Verdict,
    },
    /// A call that failed, or was held and did not happen, is to run again.
    RetryReset {
        /// When.
        at: Timestamp,
        /// Not to be claimed before this instant.
        due: Option<Timestamp>,
        /// Who asked for it.
        by: Verdict,
    },
    /// A running attempt was given up.
    Recover {
        /// When.
        at: Timestamp,
        /// Which attempt.
        attempt: u32,
        /// Who ran it.
        lost: Owner,
        /// Why it is given up.
        cause: Interruption,
        /// What becomes of the call.
        way: Way,
    },
}

/// Who an event comes from: the call's own attempt, a client's request, the server, or somebody who settled it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The attempt reported.
    Attempt,
    /// A request with the call's key asked for it.
    Client,
    /// The server decided it by the tool's policy.
    Server,
    /// A person or a probe settled a held call.
    Settled {
        /// Who.
        who: String,
        /// On what grounds.
        evidence: String,
    },
}

/// What ended an attempt before it could report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interruption {
    /// Its lease ran out.
    LeaseOver,
    /// Its owner is known to be gone.
    OwnerGone,
    /// It reached the tool's time limit.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The tool itself cannot tell what happened.
    OutcomeUnknown,
}

impl Interruption {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::LeaseOver, Self::OwnerGone, Self::TimedOut, Self::Panicked, Self::OutcomeUnknown];

    /// The stable word, in `held.reason` and as the code of the failure it leads to.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LeaseOver => "lease_over",
            Self::OwnerGone => "owner_gone",
            Self::TimedOut => "timeout",
            Self::Panicked => "panicked",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// The interruption with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|interruption| interruption.as_str() == word)
    }

    /// Whether the attempt itself has ended (its worker is here and says so), in contrast to one we merely lost sight of.
    pub const fn has_ended(self) -> bool {
        match self {
            Self::TimedOut | Self::Panicked | Self::OutcomeUnknown => true,
            Self::LeaseOver | Self::OwnerGone => false,
        }
    }
}

/// What becomes of a call whose attempt was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// It waits to be claimed again.
    Requeued,
    /// Nobody may run it until it is settled.
    Held,
}

impl Way {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requeued => "requeued",
            Self::Held => "held",
        }
    }
}

impl Event {
    /// When it happened.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Created { request } => request.created_at,
            Self::Claimed { at, .. }
            | Self::Succeeded { at, .. }
            | Self::Failed { at, .. }
            | Self::RetryReset { at, .. }
            | Self::Recover { at, .. } => *at,
        }
    }

    /// Its name in the log.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::Claimed { .. } => "claimed",
            Self::Succeeded { .. } => "succeeded",
            Self::Failed { .. } => "failed",
            Self::RetryReset { .. } => "retry_reset",
            Self::Recover { .. } => "recover",
        }
    }

    /// The number of attempts claimed when it had happened, where the event says it.
    pub fn attempt(&self) -> Option<u32> {
        match self {
            Self::Created { .. } | Self::RetryReset { .. } => None,
            Self::Claimed { attempt, .. } => Some(attempt.number),
            Self::Succeeded { attempt, .. }
            | Self::Failed { attempt, .. }
            | Self::Recover { attempt, .. } => Some(*attempt),
        }
    }

    /// Whether it says how an attempt ended, and not that anything is to begin.
    pub const fn is_report(&self) -> bool {
        match self {
            Self::Succeeded { .. } | Self::Failed { .. } | Self::Recover { .. } => true,
            Self::Created { .. } | Self::Claimed { .. } | Self::RetryReset { .. } => false,
        }
    }

    /// Who it comes from, where that can vary.
    pub fn by(&self) -> Option<&Verdict> {
        match self {
            Self::Created { .. } | Self::Claimed { .. } | Self::Recover { .. } => None,
            Self::Succeeded { by, .. } | Self::Failed { by, .. } | Self::RetryReset { by, .. } => Some(by),
        }
    }
}

impl Verdict {
    /// Who, in a word or by name.
    pub fn who(&self) -> &str {
        match self {
            Self::Attempt => "attempt",
            Self::Client => "client",
            Self::Server => "server",
            Self::Settled { who, .. } => who,
        }
    }

    /// On what grounds, where somebody settled a held call.
    pub fn evidence(&self) -> Option<&str> {
        match self {
            Self::Attempt | Self::Client | Self::Server => None,
            Self::Settled { evidence, .. } => Some(evidence),
        }
    }
}

//! What can be asked of a call, in the imperative. Each command carries the instant it is decided at.

use std::sync::Arc;

use super::call::{Effect, Failure, Request};
use super::event::Interruption;
use super::id::Owner;
use super::json::Canonical;
use super::policy::{Interrupted, Policy};
use super::time::Timestamp;

/// One wish. `decide` answers it with events or with a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A request with a key arrived.
    Submit(Submit),
    /// A worker wants to run it.
    Claim(Claim),
    /// An attempt says that it succeeded.
    Succeed(Succeed),
    /// An attempt says that it failed.
    Fail(Fail),
    /// A running attempt is to be given up.
    Recover(Recover),
    /// The server itself tries a failed call again.
    Retry(Retry),
    /// Somebody knows what became of a held call.
    Resolve(Resolve),
}

/// A request with a key arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submit {
    /// When.
    pub at: Timestamp,
    /// What is asked; its `call_id` and `created_at` count only if the key is new.
    pub request: Arc<Request>,
}

/// A worker wants to run the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// When.
    pub at: Timestamp,
    /// Who will run it.
    pub owner: Owner,
    /// The tool's policy.
    pub policy: Policy,
}

/// An attempt says that it succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Succeed {
    /// When.
    pub at: Timestamp,
    /// Which attempt.
    pub attempt: u32,
    /// What the tool answered.
    pub result: Canonical,
    /// What it did, if the tool has a side effect.
    pub effect: Option<Effect>,
}

/// An attempt says that it failed, with certainty: what it was to do did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    /// When.
    pub at: Timestamp,
    /// Which attempt.
    pub attempt: u32,
    /// Why.
    pub error: Failure,
    /// How many attempts the call may have.
    pub max_attempts: u32,
}

/// A running attempt is to be given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recover {
    /// When.
    pub at: Timestamp,
    /// Which attempt.
    pub attempt: u32,
    /// Why.
    pub cause: Interruption,
    /// What is known of the interruption, for people.
    pub message: String,
    /// How the tool's interrupted attempts are treated; nothing if the tool is not configured.
    pub interrupted: Option<Interrupted>,
    /// How many attempts the call may have.
    pub max_attempts: u32,
}

/// The server itself tries a failed call again, in some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// When this is decided.
    pub at: Timestamp,
    /// Not to be claimed before this instant.
    pub due: Timestamp,
}

/// Somebody knows what became of a held call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// When.
    pub at: Timestamp,
    /// What became of it.
    pub outcome: Resolution,
    /// Who says so.
    pub who: String,
    /// On what grounds.
    pub evidence: String,
    /// How many attempts the call may have.
    pub max_attempts: u32,
}

/// What became of a held call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// It happened.
    Happened {
        /// What the tool answered, or would have.
        result: Canonical,
        /// What it did, if the tool has a side effect.
        effect: Option<Effect>,
    },
    /// It did not happen, and may run again.
    NotHappened,
    /// Whatever happened, nobody will try again.
    Abandon,
}

//! What do the tables hold, given the log? Pure functions from a snapshot or an event to a row, and back.
//!
//! The rows of `calls` and `effects` are functions of the call's [`Snapshot`] alone, so folding the log and projecting each
//! call gives the tables again, byte for byte. Times in the tables are seconds, as people's own SQL expects; in events microseconds.

mod call_row;
mod cells;
mod checksum;

use std::borrow::Cow;

pub use call_row::{CallRow, FixedColumns, StateColumns};

use super::StoreError;
use super::record::{Entry, Snapshot};
use crate::domain::call::Call;
use crate::domain::event::Event;

/// A row of `effects`.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectRow<'a> {
    /// The id that every attempt gave to the downstream.
    pub effect_id: String,
    /// Whose effect it is; unique, which is the last place where law L2 is enforced.
    pub call_id: String,
    /// Which tool did it.
    pub tool: &'a str,
    /// What was moved, for tools that move an amount.
    pub amount: Option<i64>,
    /// When it was recorded, in seconds.
    pub created_at: f64,
}

impl<'a> EffectRow<'a> {
    /// The row of this call's effect; none where the call has no effect.
    pub fn of(snapshot: &'a Snapshot) -> Option<Self> {
        let Call::Succeeded { request, effect: Some(effect), .. } = &snapshot.call else { return None };
        Some(Self {
            effect_id: request.effect_id().to_string(),
            call_id: request.call_id.to_string(),
            tool: request.tool.as_str(),
            amount: effect.amount,
            // A success is a call's last event.
            created_at: snapshot.updated_at.as_seconds(),
        })
    }
}

/// An event in a few words for people: the `detail` of its row in `audit`.
pub fn detail(entry: &Entry) -> Option<Cow<'_, str>> {
    match &entry.event {
        Event::Created { request } => Some(request.tool.as_str().into()),
        Event::Claimed { owner, .. } => Some(owner.as_str().into()),
        Event::Succeeded { effect, .. } => effect.map(|_| entry.call_id.effect_id().to_string().into()),
        Event::Failed { error, .. } => Some(error.code.as_str().into()),
        Event::RetryReset { by, .. } => Some(by.who().into()),
        Event::Recover { lost, .. } => Some(lost.as_str().into()),
    }
}

//! What does the log make of the tables? The strict fold: whatever is wrong with an event ends it, named by its position.
//!
//! The rows of `calls` are in the order in which keys were taken, those of `effects` in the order in which effects were
//! recorded. So a log is folded call by call in the order of first events, and then gone through once more for the effects:
//! the tables that come out are those that were kept all along, byte for byte. Neither a clock nor any configuration is asked.

use super::counters::Tally;
use super::error::StoreError;
use super::projection::{CallRow, EffectRow, FixedColumns, StateColumns, effect_row};
use super::record::{Entry, Recorded, Snapshot};
use super::verify::Findings;
use crate::domain::id::{Position, ToolName};

/// What a rebuild, or a comparison with one, looked at and found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// The last event.
    pub position: Position,
    /// How many events there are.
    pub events: u64,
    /// How many calls they belong to.
    pub calls: u64,
    /// How many effects they record.
    pub effects: u64,
    /// Where the tables differ from what the log makes; nothing after they were replaced.
    pub findings: Findings,
}

/// A row that the log makes, on its way to where it is written or compared.
#[derive(Debug, Clone)]
pub enum Made {
    /// Of `calls`.
    Call(Box<MadeCall>),
    /// Of `effects`.
    Effect(Box<MadeEffect>),
}

/// A call after its last event.
#[derive(Debug, Clone)]
pub struct MadeCall {
    snapshot: Snapshot,
    checksum: i64,
}

/// An effect and the tool that did it.
#[derive(Debug, Clone)]
pub struct MadeEffect {
    entry: Entry,
    tool: ToolName,
}

/// Where rows that the log makes go.
pub trait Target {
    /// Takes the next row of `calls`.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn call(&mut self, row: &CallRow<'_>) -> Result<(), StoreError>;

    /// Takes the next row of `effects`.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn effect(&mut self, row: &EffectRow<'_>) -> Result<(), StoreError>;

    /// Takes the counters, after all rows.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn counters(&mut self, counted: &Tally) -> Result<(), StoreError>;
}

impl Made {
    /// The effect that an event records, if it records one; `tool` is its call's.
    pub fn effect(entry: Entry, tool: ToolName) -> Option<Self> {
        effect_row(&entry, &tool)?;
        Some(Self::Effect(Box::new(MadeEffect { entry, tool })))
    }

    /// Brings the row to where it goes.
    ///
    /// # Errors
    /// As for [`Target`].
    pub fn hand_to(&self, target: &mut impl Target) -> Result<(), StoreError> {
        match self {
            Self::Call(made) => match made.snapshot.call.request() {
                None => Ok(()),
                Some(request) => target.call(&CallRow {
                    fixed: FixedColumns::of(request),
                    state: StateColumns::of(&made.snapshot, request),
                    checksum: made.checksum,
                }),
            },
            Self::Effect(made) => match effect_row(&made.entry, &made.tool) {
                None => Ok(()),
                Some(row) => target.effect(&row),
            },
        }
    }
}

/// Folds the events of one call after the other.
#[derive(Debug)]
pub struct Folding {
    call: Snapshot,
    /// What the calls that are done add up to.
    counted: Tally,
    events: u64,
}

impl Folding {
    /// Before the first event.
    pub fn new() -> Self {
        Self { call: Snapshot::absent(), counted: Tally::default(), events: 0 }
    }

    /// Takes the next event. Where it is of another call than the one before, that one is done, and is returned.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] names an event that does not follow, or cannot have happened.
    pub fn event(&mut self, recorded: &Recorded) -> Result<Option<Made>, StoreError> {
        self.events += 1;
        let same = self.call.call.request().is_some_and(|request| request.call_id == recorded.entry.call_id);
        let done = if same { None } else { self.finish_call() };
        self.call = self.call.replay(recorded)?;
        Ok(done)
    }

    /// The last call; after this nothing is left.
    pub fn finish_call(&mut self) -> Option<Made> {
        let snapshot = std::mem::replace(&mut self.call, Snapshot::absent());
        let checksum = CallRow::of(&snapshot)?.checksum;
        self.counted.count(&snapshot.call);
        Some(Made::Call(Box::new(MadeCall { snapshot, checksum })))
    }

    /// How many events were taken.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// What the calls that are done add up to.
    pub const fn counted(&self) -> &Tally {
        &self.counted
    }
}

impl Default for Folding {
    fn default() -> Self {
        Self::new()
    }
}

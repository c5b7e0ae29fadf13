//! What does the log make of the tables? The strict fold: whatever is wrong with an event ends it, named by its position.
//!
//! The rows of `calls` are in the order in which keys were taken, so a log is folded call by call in the order of first events:
//! the tables that come out are those that were kept all along, byte for byte. Neither a clock nor any configuration is asked.

use super::counters::Tally;
use super::error::StoreError;
use super::projection::{CallRow, EffectRow, FixedColumns, StateColumns};
use super::record::{Recorded, Snapshot};
use super::verify::Findings;
use crate::domain::id::Position;

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
    /// What could not be compared, and why.
    pub unchecked: Vec<String>,
}

/// What the log makes of one call, on its way to where it is written or compared.
#[derive(Debug, Clone)]
pub struct Made {
    /// After its last event.
    snapshot: Snapshot,
    checksum: i64,
}

/// Where rows that the log makes go.
pub trait Target {
    /// Takes the next row of `calls`, and that of its effect, if it has one.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn call(&mut self, row: &CallRow<'_>, effect: Option<&EffectRow<'_>>) -> Result<(), StoreError>;

    /// Takes the counters, after all rows.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn counters(&mut self, counted: &Tally) -> Result<(), StoreError>;
}

impl Made {
    /// Brings the rows to where they go.
    ///
    /// # Errors
    /// As for [`Target`].
    pub fn hand_to(&self, target: &mut impl Target) -> Result<(), StoreError> {
        let Some(request) = self.snapshot.call.request() else { return Ok(()) };
        let row = CallRow {
            fixed: FixedColumns::of(request),
            state: StateColumns::of(&self.snapshot, request),
            checksum: self.checksum,
        };
        target.call(&row, EffectRow::of(&self.snapshot).as_ref())
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
        Some(Made { snapshot, checksum })
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

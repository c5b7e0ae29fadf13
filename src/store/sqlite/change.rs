//! One append, worked out where it was asked for, so that the writer thread only has to bind and execute.

use crate::domain::event::Event;
use crate::domain::id::Version;
use crate::store::counters::{self, Counter};
use crate::store::projection::CallRow;
use crate::store::record::{Entry, Snapshot};
use crate::store::{StoreError, chain::ChainHash};

/// What an append does to the tables.
#[derive(Debug)]
pub(super) struct Change {
    /// The version and hash that the call has to be at; nothing for a new call.
    pub(super) expected: Option<(Version, ChainHash)>,
    /// The call's id as text, as each table wants it.
    pub(super) call_id: String,
    /// The rows of `audit`.
    pub(super) entries: Vec<Entry>,
    /// The row of `calls`.
    pub(super) after: Snapshot,
    /// That row's checksum.
    pub(super) checksum: i64,
    /// What is added to the counters.
    pub(super) moves: Vec<(Counter, i64)>,
    /// Whether it says how an attempt ended, and not that anything is to begin.
    pub(super) reports: bool,
}

impl Change {
    /// The change that appends `events` to the call that `before` shows; nothing if there is nothing to append.
    ///
    /// # Errors
    /// As for [`Snapshot::apply_all`].
    pub(super) fn prepare(before: &Snapshot, events: Vec<Event>) -> Result<Option<Self>, StoreError> {
        let (after, entries) = before.apply_all(events)?;
        let (Some(first), Some(row)) = (entries.first(), CallRow::of(&after)) else { return Ok(None) };
        let (call_id, checksum) = (first.call_id.to_string(), row.checksum);
        Ok(Some(Self {
            expected: (before.version != Version::NONE).then_some((before.version, before.chain)),
            call_id,
            checksum,
            moves: counters::moves(&before.call, &after.call),
            reports: first.event.is_report(),
            entries,
            after,
        }))
    }
}

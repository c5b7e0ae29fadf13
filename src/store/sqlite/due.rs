//! What is to be done now? Pending calls that may be claimed, and running ones whose lease is over.
//!
//! A call's place is its rowid: rows are never deleted, so it is the order in which keys were taken. The conditions are
//! spelled as the partial indexes spell theirs, which is how SQLite sees that it may use them.

use super::error::read_error;
use super::read::{Reads, sql_limit};
use super::row::{self, CALL_COLUMNS, call_columns};
use crate::domain::id::ToolName;
use crate::domain::time::Timestamp;
use crate::store::record::Snapshot;
use crate::store::{DueCursor, DuePage, StoreError};

/// Calls that wait for nothing come in order from `idx_calls_ready`; those with a due time are kept apart in
/// `idx_calls_due`. Both begin with the tool, so that a million calls of a stuck tool cost the other tools nothing. They
/// are named, because SQLite would rather walk the table in order than sort.
pub(super) const DUE: &str = concat!(
    "SELECT * FROM (SELECT ",
    call_columns!(),
    ", rowid AS place FROM calls INDEXED BY idx_calls_ready \
     WHERE tool = ?4 AND status = 'pending' AND due_at IS NULL AND rowid >= ?1 ORDER BY rowid LIMIT ?3) \
     UNION ALL \
     SELECT * FROM (SELECT ",
    call_columns!(),
    ", rowid AS place FROM calls INDEXED BY idx_calls_due \
     WHERE tool = ?4 AND due_at <= ?2 AND status = 'pending' AND rowid >= ?1 ORDER BY rowid LIMIT ?3) \
     ORDER BY place LIMIT ?3"
);

pub(super) const EXPIRED: &str = concat!(
    "SELECT ",
    call_columns!(),
    " FROM calls WHERE status = 'running' AND due_at IS NULL AND lease_until <= ?1 ORDER BY lease_until, rowid LIMIT ?2"
);

pub(super) const LEASES_OVER: &str =
    "SELECT count(*) FROM calls WHERE status = 'running' AND due_at IS NULL AND lease_until <= ?1";

pub(super) const OLDEST_PENDING: &str = "SELECT created_at FROM calls WHERE rowid = (SELECT min(place) FROM (\
     SELECT * FROM (SELECT rowid AS place FROM calls \
     WHERE status = 'pending' AND due_at IS NULL AND lease_until IS NULL ORDER BY rowid LIMIT 1) \
     UNION ALL SELECT min(rowid) FROM calls INDEXED BY idx_calls_due WHERE due_at IS NOT NULL))";

impl Reads {
    pub(super) fn due(
        &self,
        tool: &ToolName,
        now: Timestamp,
        cursor: DueCursor,
        limit: usize,
    ) -> Result<DuePage, StoreError> {
        // One more than asked for, whose place is where the next page begins.
        let params = (cursor.0, now.as_seconds(), sql_limit(limit.saturating_add(1)), tool.as_str());
        let mut found = self.all(DUE, params, |row| {
            let place: i64 = row.get(CALL_COLUMNS).map_err(|error| read_error(&error))?;
            Ok((place, row::snapshot(row)?))
        })?;
        let next = match found.len() > limit {
            true => found.pop().map(|(place, _)| DueCursor(place)),
            false => None,
        };
        Ok(DuePage { calls: found.into_iter().map(|(_, snapshot)| snapshot).collect(), next })
    }

    pub(super) fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Snapshot>, StoreError> {
        self.all(EXPIRED, (now.as_seconds(), sql_limit(limit)), row::snapshot)
    }
}

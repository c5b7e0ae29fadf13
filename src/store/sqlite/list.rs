//! Which calls are there? Pages of calls, newest first, by the cheapest way that the filter allows.

use rusqlite::params;

use super::read::{Reads, sql_limit};
use super::row::{self, call_columns};
use crate::domain::call::Status;
use crate::domain::id::{CallId, ClientId, ToolName};
use crate::store::record::Snapshot;
use crate::store::{Filter, StoreError};

/// Rows that are looked at in one read transaction. A filter that little passes through has to look at many; in steps, so
/// that no transaction keeps the WAL from beginning anew.
const STEP: i64 = 20_000;

/// A page from an index, with the conditions that it does not serve. ?1: place, ?2: limit, ?3: tool, ?4: client. The index is
/// named: a table walk in order looks cheaper to SQLite, and is not where few rows match.
macro_rules! select {
    ($index:literal, $where:literal) => {
        concat!(
            "SELECT ",
            call_columns!(),
            ", rowid AS place FROM calls INDEXED BY ",
            $index,
            " WHERE ",
            $where,
            " AND rowid < ?1 AND (?3 IS NULL OR tool = ?3) AND (?4 IS NULL OR client_id = ?4) \
             ORDER BY rowid DESC LIMIT ?2"
        )
    };
}

/// Pending calls, those that wait for a due time among them.
pub(super) const PENDING: &str = concat!(
    "SELECT * FROM (",
    select!("idx_calls_status", "status = 'pending' AND due_at IS NULL AND lease_until IS NULL"),
    ") UNION ALL SELECT * FROM (",
    select!("idx_calls_due", "due_at IS NOT NULL"),
    ") ORDER BY place DESC LIMIT ?2"
);
pub(super) const RUNNING: &str = select!("idx_calls_status", "status = 'running' AND due_at IS NULL");
pub(super) const RUNNING_NOT_HELD: &str =
    select!("idx_calls_status", "status = 'running' AND due_at IS NULL AND lease_until IS NOT NULL");
pub(super) const HELD: &str = select!("idx_calls_held", "status = 'running' AND held_since IS NOT NULL");
pub(super) const FAILED: &str = select!("idx_calls_failed", "status = 'failed'");
/// All calls of a client, whatever their state, from its own index.
pub(super) const OF_CLIENT: &str = concat!(
    "SELECT ",
    call_columns!(),
    " FROM calls INDEXED BY idx_calls_client_seq WHERE client_id = ?4 AND rowid < ?1 AND (?3 IS NULL OR tool = ?3) \
     AND (?5 IS NULL OR status = ?5) AND (?6 = 0 OR held_since IS NULL) ORDER BY rowid DESC LIMIT ?2"
);
/// A step back through all calls, down to the place ?7.
pub(super) const STEP_BACK: &str = concat!(
    "SELECT ",
    call_columns!(),
    " FROM calls WHERE rowid < ?1 AND rowid >= ?7 AND (?3 IS NULL OR tool = ?3) AND (?4 IS NULL OR client_id = ?4) \
     AND (?5 IS NULL OR status = ?5) AND (?6 = 0 OR held_since IS NULL) ORDER BY rowid DESC LIMIT ?2"
);

impl Reads {
    pub(super) fn list(
        &self,
        filter: &Filter,
        before: Option<CallId>,
        limit: usize,
    ) -> Result<Vec<Snapshot>, StoreError> {
        let place = match before {
            Some(id) => self.value("SELECT rowid FROM calls WHERE call_id = ?1", [id.to_string()])?,
            None => self.value::<Option<i64>>("SELECT max(rowid) + 1 FROM calls", [])?.flatten(),
        };
        let Some(place) = place else { return Ok(vec![]) };
        let indexed = match (filter.status, filter.held) {
            (Some(Status::Pending), None | Some(false)) => PENDING,
            (Some(Status::Running), None) => RUNNING,
            (Some(Status::Running), Some(false)) => RUNNING_NOT_HELD,
            (None | Some(Status::Running), Some(true)) => HELD,
            (Some(Status::Failed), None | Some(false)) => FAILED,
            (Some(Status::Pending | Status::Succeeded | Status::Failed), Some(true)) => return Ok(vec![]),
            (None | Some(Status::Succeeded), None | Some(false)) => return self.walk(filter, place, limit),
        };
        let (tool, client) = texts(filter);
        self.all(indexed, params![place, sql_limit(limit), tool, client], row::snapshot)
    }

    /// Goes back step by step through all calls older than `place`. Most lists are full after the first step; one that is
    /// not, and asks for a client that sent few calls, is better served by the client's own index.
    fn walk(&self, filter: &Filter, mut place: i64, limit: usize) -> Result<Vec<Snapshot>, StoreError> {
        let (tool, client) = texts(filter);
        let status = filter.status.map(Status::as_str);
        let not_held = filter.held == Some(false);
        let mut found = Vec::new();
        while found.len() < limit && place > 1 {
            let missing = sql_limit(limit - found.len());
            let to = place.saturating_sub(STEP).max(1);
            found.extend(self.all(
                STEP_BACK,
                params![place, missing, tool, client, status, not_held, to],
                row::snapshot,
            )?);
            place = to;
            if let (Some(client), true) = (client, found.len() < limit) {
                let missing = sql_limit(limit - found.len());
                found.extend(self.all(
                    OF_CLIENT,
                    params![place, missing, tool, client, status, not_held],
                    row::snapshot,
                )?);
                break;
            }
        }
        Ok(found)
    }
}

fn texts(filter: &Filter) -> (Option<&str>, Option<&str>) {
    (filter.tool.as_ref().map(ToolName::as_str), filter.client_id.as_ref().map(ClientId::as_str))
}

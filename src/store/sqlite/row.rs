//! Rows as SQLite hands them out, and what they show.

use rusqlite::types::ValueRef;
use rusqlite::{Error, Row};

use super::error::read_error;
use crate::domain::id::{CallId, Position, Version};
use crate::store::StoreError;
use crate::store::chain::ChainHash;
use crate::store::codec;
use crate::store::projection::{self, CallRow, FixedColumns, StateColumns};
use crate::store::record::{Entry, Recorded, Snapshot};

/// The columns of `calls`, in the order that [`snapshot`] reads them.
macro_rules! call_columns {
    () => {
        "call_id, idem_key, fingerprint, client_id, seq, tool, args_json, status, result_json, error_json, attempt, \
         lease_until, owner, effect_id, created_at, updated_at, version, chain, held_since, held_reason, due_at, \
         open_attempt, effect_amount, fingerprint_scheme, checksum"
    };
}
pub(super) use call_columns;

/// Columns of [`call_columns`].
pub(super) const CALL_COLUMNS: usize = 25;

/// The columns of `audit`, in the order that [`recorded`] reads them.
macro_rules! event_columns {
    () => {
        "id, ts, call_id, event, detail, version, payload, hash"
    };
}
pub(super) use event_columns;

/// The call that a row of `calls` shows, proved by its checksum.
pub(super) fn snapshot(row: &Row<'_>) -> Result<Snapshot, StoreError> {
    let row = call_row(row)
        .map_err(|error| StoreError::Corrupt(format!("a row of `calls` cannot be read: {error}")))?;
    row.snapshot()
}

fn call_row<'r>(row: &'r Row<'_>) -> rusqlite::Result<CallRow<'r>> {
    Ok(CallRow {
        fixed: FixedColumns {
            call_id: text(row, 0)?.into(),
            idem_key: text(row, 1)?,
            fingerprint: text(row, 2)?.into(),
            client_id: optional(row, 3, text)?,
            seq: row.get(4)?,
            tool: text(row, 5)?,
            args_json: text(row, 6)?,
            created_at: real(row, 14)?,
            fingerprint_scheme: row.get(23)?,
        },
        state: StateColumns {
            status: text(row, 7)?,
            result_json: optional(row, 8, text)?,
            error_json: optional(row, 9, text)?.map(Into::into),
            attempt: row.get(10)?,
            lease_until: optional(row, 11, real)?,
            owner: optional(row, 12, text)?,
            effect_id: optional(row, 13, text)?.map(Into::into),
            updated_at: real(row, 15)?,
            version: row.get(16)?,
            chain: blob(row, 17)?,
            held_since: optional(row, 18, real)?,
            held_reason: optional(row, 19, text)?,
            due_at: optional(row, 20, real)?,
            open_attempt: row.get(21)?,
            effect_amount: row.get(22)?,
        },
        checksum: row.get(24)?,
    })
}

/// The event that a row of `audit` holds. The columns that repeat the payload for people have to agree with it.
pub(super) fn recorded(row: &Row<'_>) -> Result<Recorded, StoreError> {
    let position = row.get::<_, i64>(0).map_err(|error| read_error(&error))?.cast_unsigned();
    let corrupt = |problem: &dyn std::fmt::Display| {
        StoreError::Corrupt(format!("the event at position {position} cannot be read: {problem}"))
    };
    let entry = entry(row).map_err(|error| corrupt(&error))?;
    let event = codec::decode(entry.payload).map_err(|error| corrupt(&error))?;
    let call_id: CallId = entry.call_id.parse().map_err(|error| corrupt(&error))?;
    let hash = entry.hash.try_into().map_err(|_| corrupt(&"its hash has the wrong length"))?;
    let read = Entry {
        call_id,
        version: Version(entry.version.cast_unsigned()),
        payload: entry.payload.to_vec(),
        hash: ChainHash::from_bytes(hash),
        event,
    };
    let agree = entry.event == read.event.name()
        && entry.ts == read.event.at().as_seconds()
        && entry.detail == projection::detail(&read).as_deref();
    match agree {
        true => Ok(Recorded { position: Position(position), entry: read }),
        false => Err(corrupt(&"its columns and its payload disagree")),
    }
}

struct EventRow<'r> {
    ts: f64,
    call_id: &'r str,
    event: &'r str,
    detail: Option<&'r str>,
    version: i64,
    payload: &'r [u8],
    hash: &'r [u8],
}

fn entry<'r>(row: &'r Row<'_>) -> rusqlite::Result<EventRow<'r>> {
    Ok(EventRow {
        ts: real(row, 1)?,
        call_id: text(row, 2)?,
        event: text(row, 3)?,
        detail: optional(row, 4, text)?,
        version: row.get(5)?,
        payload: blob(row, 6)?,
        hash: blob(row, 7)?,
    })
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r str> {
    let value = row.get_ref(column)?;
    value.as_str().map_err(|_| wrong(column, value))
}

fn blob<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    let value = row.get_ref(column)?;
    value.as_blob().map_err(|_| wrong(column, value))
}

fn real(row: &Row<'_>, column: usize) -> rusqlite::Result<f64> {
    let value = row.get_ref(column)?;
    value.as_f64().map_err(|_| wrong(column, value))
}

fn optional<'r, T>(
    row: &'r Row<'_>,
    column: usize,
    read: fn(&'r Row<'_>, usize) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)? == ValueRef::Null {
        true => Ok(None),
        false => read(row, column).map(Some),
    }
}

fn wrong(column: usize, value: ValueRef<'_>) -> Error {
    Error::InvalidColumnType(column, format!("column {column}"), value.data_type())
}

//! Reads the log in the order in which the tables are filled.

use std::sync::mpsc::SyncSender;

use rusqlite::Connection;

use super::{ROWS_IN_A_CHUNK, sql_position};
use crate::domain::id::Position;
use crate::store::StoreError;
use crate::store::counters::Tally;
use crate::store::rebuild::{Folding, Made};
use crate::store::sqlite::error::read_error;
use crate::store::sqlite::row;

/// Call by call in the order of their first events, the events of each by version.
const BY_CALL: &str = "SELECT h.id, h.ts, h.call_id, h.event, h.detail, h.version, h.payload, h.hash \
     FROM audit AS c CROSS JOIN audit AS h ON h.call_id = c.call_id WHERE c.version = 1 ORDER BY c.id, h.version";

/// The first event whose call has no beginning.
const ORPHAN: &str = "SELECT id FROM audit AS a WHERE NOT EXISTS \
     (SELECT 1 FROM audit AS c WHERE c.call_id = a.call_id AND c.version = 1) ORDER BY id LIMIT 1";

/// What is known once all of the log is folded.
pub(super) struct Folded {
    pub(super) counted: Tally,
    pub(super) events: u64,
}

/// Where the log ends.
pub(super) fn last_position(log: &Connection) -> Result<Position, StoreError> {
    let last = log.query_row("SELECT max(id) FROM audit", [], |row| row.get::<_, Option<i64>>(0));
    Ok(sql_position(last.map_err(|error| read_error(&error))?.unwrap_or(0)))
}

/// Folds the log and sends what it makes, in chunks, each with the number of events folded so far.
pub(super) fn fold(log: &Connection, send: &SyncSender<(Vec<Made>, u64)>) -> Result<Folded, StoreError> {
    let sqlite = |error: rusqlite::Error| read_error(&error);
    let moment = log.unchecked_transaction().map_err(sqlite)?;
    let mut folding = Folding::new();
    let mut outbox = Outbox { send, chunk: Vec::with_capacity(ROWS_IN_A_CHUNK) };

    let mut by_call = log.prepare(BY_CALL).map_err(sqlite)?;
    let mut rows = by_call.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        if let Some(made) = folding.event(&row::recorded(row)?)? {
            outbox.push(made, folding.events())?;
        }
    }
    if let Some(made) = folding.finish_call() {
        outbox.push(made, folding.events())?;
    }
    let events: i64 = log.query_row("SELECT count(*) FROM audit", [], |row| row.get(0)).map_err(sqlite)?;
    if folding.events() != events.cast_unsigned() {
        let position: i64 = log.query_row(ORPHAN, [], |row| row.get(0)).map_err(sqlite)?;
        return Err(StoreError::Corrupt(format!(
            "the event at position {position} belongs to a call whose first event is missing"
        )));
    }

    outbox.flush(folding.events())?;
    moment.finish().map_err(sqlite)?;
    Ok(Folded { counted: folding.counted().clone(), events: folding.events() })
}

/// Rows on their way to the other thread.
struct Outbox<'s> {
    send: &'s SyncSender<(Vec<Made>, u64)>,
    chunk: Vec<Made>,
}

impl Outbox<'_> {
    fn push(&mut self, made: Made, seen: u64) -> Result<(), StoreError> {
        self.chunk.push(made);
        match self.chunk.len() {
            ROWS_IN_A_CHUNK => self.flush(seen),
            _ => Ok(()),
        }
    }

    fn flush(&mut self, seen: u64) -> Result<(), StoreError> {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(ROWS_IN_A_CHUNK));
        // The other side gave up, and says why.
        self.send.send((chunk, seen)).map_err(|_| StoreError::Unavailable("nobody takes the rows".into()))
    }
}

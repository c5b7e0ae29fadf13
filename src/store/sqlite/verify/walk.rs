//! Call after call: its events, its row and its effects, from three tables that are read side by side in the order of call
//! ids.
//!
//! Each statement walks an index and fetches the row it leads to, and reads the columns of the row itself: so an index that
//! leads to another call's row is noticed, and a call that is in one of the tables only is met as well.

use std::fmt;

use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator as _;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Rows};

use super::key::Key;
use super::start::Start;
use super::{Parts, ROWS_AT_ONCE, out_of_order};
use crate::store::cell::Cell;
use crate::store::projection::{CallRow, EffectRow};
use crate::store::verify::{CallCheck, EVENT_COLUMNS, Terms};

/// Some calls that follow each other.
#[derive(Debug, Clone)]
pub(super) struct Range {
    /// The calls after this one …
    pub(super) after: Key,
    /// … up to this one.
    pub(super) upto: Key,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {} up to {}", self.after, self.upto)
    }
}

/// Checks the calls of a range.
pub(super) fn read(
    db: &Connection,
    range: &Range,
    start: &Start,
    terms: Terms,
    tell: &dyn Fn(usize),
    part: &mut Parts,
) -> rusqlite::Result<()> {
    let mut statements = [
        db.prepare(&select("audit", "id", &EVENT_COLUMNS, "i.call_id, i.version"))?,
        db.prepare(&select("calls", "rowid", &CallRow::COLUMNS, "i.call_id"))?,
        db.prepare(&select("effects", "effect_id", &EffectRow::COLUMNS, "i.call_id"))?,
    ];
    let mut last = range.after.clone();
    loop {
        let transaction = db.unchecked_transaction()?;
        let [events, calls, effects] = &mut statements;
        let mut events = Cursor::open(events.query((&last, &range.upto))?)?;
        let mut calls = Cursor::open(calls.query((&last, &range.upto))?)?;
        let mut effects = Cursor::open(effects.query((&last, &range.upto))?)?;
        let mut rows = 0;
        let mut done = true;
        while rows < ROWS_AT_ONCE {
            let keys = [events.key()?, calls.key()?, effects.key()?];
            let Some(key) = keys.into_iter().flatten().min().map(Key::own) else { break };
            if last >= key {
                return Err(out_of_order());
            }
            let mut check = CallCheck::new(&key.bytes);
            while let Some(row) = events.of(&key)? {
                let cells: [_; EVENT_COLUMNS.len()] = cells(row, FIRST);
                let counts = cells[0].as_integer().is_some_and(|id| id <= start.position.0.cast_signed());
                part.by_call += u64::from(counts);
                check.event(&cells);
                events.rows.advance()?;
                rows += 1;
            }
            while let Some(row) = calls.of(&key)? {
                let cells: [_; CallRow::COLUMNS.len()] = cells(row, FIRST);
                check.row(&cells);
                part.keys_of_rows.count(row.get(1)?, cells[1], start.last_row);
                calls.rows.advance()?;
            }
            while let Some(row) = effects.of(&key)? {
                check.effect(&cells(row, FIRST));
                effects.rows.advance()?;
            }
            if !check.finish(terms, &mut part.counted, &mut part.findings) {
                part.unfolded += 1;
            }
            last = key;
            done = false;
        }
        drop((events, calls, effects));
        transaction.finish()?;
        tell(rows);
        if done {
            return Ok(());
        }
    }
}

/// The first of a table's own columns in [`select`].
const FIRST: usize = 2;

/// Reads `table` by an index that begins with the call id. Column 0 is the call id in the index, 1 the key of the row.
fn select(table: &str, key: &str, columns: &[&str], order: &str) -> String {
    let columns = columns.iter().map(|column| format!("t.{column}")).collect::<Vec<_>>().join(", ");
    format!(
        "SELECT i.call_id, t.{key}, {columns} FROM {table} AS i CROSS JOIN {table} AS t ON t.{key} = i.{key} \
         WHERE i.call_id > ?1 AND i.call_id <= ?2 ORDER BY {order}"
    )
}

/// The rows of one table, of which the first that has not been taken is at hand.
struct Cursor<'s> {
    rows: Rows<'s>,
}

impl<'s> Cursor<'s> {
    fn open(mut rows: Rows<'s>) -> rusqlite::Result<Self> {
        rows.advance()?;
        Ok(Self { rows })
    }

    /// Whose row is at hand.
    fn key(&self) -> rusqlite::Result<Option<Key<&[u8]>>> {
        match self.rows.get() {
            Some(row) => Ok(Key::of(row.get_ref(0)?)),
            None => Ok(None),
        }
    }

    /// The row at hand, if it is of this call.
    fn of(&self, key: &Key) -> rusqlite::Result<Option<&Row<'s>>> {
        let is_it = self.key()?.is_some_and(|at_hand| key.is(&at_hand));
        Ok(self.rows.get().filter(|_| is_it))
    }
}

/// The values of a row from column `first` on, which has to have as many.
pub(in crate::store::sqlite) fn cells<'r, const N: usize>(row: &'r Row<'_>, first: usize) -> [Cell<'r>; N] {
    std::array::from_fn(|column| {
        cell(row.get_ref(first + column).expect("each statement selects as many columns as are taken"))
    })
}

/// A value as SQLite hands it out.
pub(in crate::store::sqlite) fn cell(value: ValueRef<'_>) -> Cell<'_> {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Integer(value),
        ValueRef::Real(value) => Cell::Real(value),
        ValueRef::Text(text) => Cell::Text(text),
        ValueRef::Blob(bytes) => Cell::Blob(bytes),
    }
}

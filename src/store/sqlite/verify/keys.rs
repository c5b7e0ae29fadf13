//! Does each key lead to its call? Requests find a call through the index of keys; where that leads astray, a known key is
//! taken for a new one, and its effect happens twice.
//!
//! The rows are read in the order of calls, the index in the order of keys, so they cannot be compared side by side. Both
//! are added up instead, each entry as a hash; only where the sums differ, the rows are looked up one by one.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rusqlite::Connection;

use super::key::Key;
use super::start::Start;
use super::walk::cell;
use super::{Parts, ROWS_AT_ONCE, out_of_order};
use crate::domain::law::{Law, Violation};
use crate::store::cell::Cell;
use crate::store::verify::Findings;

/// Entries of the index after the key ?1, at most ?2.
const KEYS: &str = "SELECT idem_key, rowid FROM calls WHERE idem_key > ?1 ORDER BY idem_key LIMIT ?2";

/// Calls to which their keys do not lead.
const STRAYS: &str = "SELECT call_id FROM calls AS c NOT INDEXED WHERE NOT EXISTS \
     (SELECT 1 FROM calls INDEXED BY sqlite_autoindex_calls_2 WHERE idem_key = c.idem_key AND +rowid = c.rowid) LIMIT ?1";

/// Entries, added up in whatever order they come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    entries: u64,
    hashes: u64,
}

impl Sum {
    /// Counts the entry of the row number `row`, unless the row is newer than `last`.
    pub(super) fn count(&mut self, row: i64, key: Cell<'_>, last: i64) {
        if row <= last {
            let mut hasher = DefaultHasher::new();
            row.hash(&mut hasher);
            match key {
                Cell::Text(bytes) => bytes.hash(&mut hasher),
                Cell::Null | Cell::Integer(_) | Cell::Real(_) | Cell::Blob(_) => {
                    key.to_string().hash(&mut hasher);
                }
            }
            self.add(Self { entries: 1, hashes: hasher.finish() });
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.hashes = self.hashes.wrapping_add(other.hashes);
    }
}

/// Adds up the index.
pub(super) fn read(db: &Connection, start: &Start, part: &mut Parts) -> rusqlite::Result<()> {
    let mut statement = db.prepare(KEYS)?;
    let mut last = Key::FIRST;
    loop {
        let mut rows = statement.query((&last, ROWS_AT_ONCE as i64))?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            read += 1;
            let key = row.get_ref(0)?;
            part.keys_of_index.count(row.get(1)?, cell(key), start.last_row);
            let Some(key) = Key::of(key).map(Key::own).filter(|key| last < *key) else {
                return Err(out_of_order());
            };
            last = key;
        }
        if read < ROWS_AT_ONCE {
            return Ok(());
        }
    }
}

/// Names the calls that are not found by their keys.
pub(super) fn strays(db: &Connection) -> rusqlite::Result<Vec<Violation>> {
    let mut statement = db.prepare(STRAYS)?;
    let found = statement.query_map([Findings::TOLD as i64], |row| {
        let call = cell(row.get_ref(0)?);
        let problem = "the index of keys does not lead from the call's key to the call";
        let broken = Violation::new(Law::OneCallPerKey, "calls.idem_key", problem);
        Ok(Violation { call: Some(call.as_text().map_or_else(|| call.to_string(), Into::into)), ..broken })
    })?;
    let mut found = found.collect::<rusqlite::Result<Vec<_>>>()?;
    if found.is_empty() {
        let problem = "the index of keys holds entries that no call has";
        found.push(Violation::new(Law::OneCallPerKey, "calls.idem_key", problem));
    }
    Ok(found)
}

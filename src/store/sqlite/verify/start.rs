//! Where does it begin? What is read in the first transaction, so that everything else can be judged by one moment.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _};

use super::key::Key;
use super::walk::{self, Range};
use crate::domain::id::Position;
use crate::domain::law::{Law, Violation};
use crate::store::cell::Cell;
use crate::store::chain::ChainHash;
use crate::store::sqlite::head::{self, Head, HeadFile};
use crate::store::verify::Report;

/// Ranges that the calls are cut into: enough for the threads to end at about the same time.
const RANGES: i64 = 32;

/// The database at one moment.
pub(super) struct Start {
    /// The last event.
    pub(super) position: Position,
    /// The last row of `calls`.
    pub(super) last_row: i64,
    /// The calls there are, cut into ranges.
    pub(super) ranges: Vec<Range>,
    counters: BTreeMap<String, Value>,
}

impl Start {
    /// Reads it, and what the file's surroundings tell about the log's end.
    pub(super) fn read(path: &Path, db: &Connection, report: &mut Report) -> rusqlite::Result<Self> {
        // Before the database, which only grows: a head that is read later could be ahead of it for good reason.
        let known = HeadFile::read(path).unwrap_or_else(|error| Err(format!("cannot be read: {error}")));
        let transaction = db.unchecked_transaction()?;
        let last = event(db, "SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1", [])?;
        let position = last.map_or(Position::START, |last| last.position);
        let start = Self {
            position,
            last_row: value::<Option<i64>>(db, "SELECT max(rowid) FROM calls", [])?.flatten().unwrap_or(0),
            ranges: ranges(db, position)?,
            counters: counters(db)?,
        };
        let given =
            value::<i64>(db, "SELECT seq FROM sqlite_sequence WHERE name = 'audit'", [])?.unwrap_or(0);
        if given != position.0.cast_signed() {
            let problem =
                format!("the log ends at position {position}, and positions were given up to {given}");
            report.findings.push(Violation::new(Law::LogIsTruth, "audit.id", problem));
        }
        let at_head = match &known {
            Ok(head) => {
                event(db, "SELECT id, hash FROM audit WHERE id = ?1", [head.position.0.cast_signed()])?
            }
            Err(_) => None,
        };
        transaction.finish()?;
        let last = last.unwrap_or(Head::EMPTY);
        let missing = head::missing(&known, last, at_head.map(|event| event.hash));
        match (missing, &known) {
            (None, _) => {}
            (Some(loss), Ok(_)) => {
                report.findings.push(Violation::new(
                    Law::AcknowledgedIsDurable,
                    "head file",
                    loss.to_string(),
                ));
            }
            // A copy of a database has no head file, and is no worse for it.
            (Some(loss), Err(_)) => {
                report.unchecked.push(format!("whether the log's end is missing: {loss}"))
            }
        }
        Ok(start)
    }

    /// The rows of `counters`.
    pub(super) fn counters(&self) -> BTreeMap<String, Cell<'_>> {
        self.counters.iter().map(|(name, value)| (name.clone(), walk::cell(value.into()))).collect()
    }
}

/// Ranges of calls that hold about as many events each. Ids need not be in the order of the log; then the ranges differ in
/// length, and that is all.
fn ranges(db: &Connection, position: Position) -> rusqlite::Result<Vec<Range>> {
    const LAST: &str = "SELECT max(call_id) FROM (SELECT max(call_id) AS call_id FROM audit \
         UNION ALL SELECT max(call_id) FROM calls UNION ALL SELECT max(call_id) FROM effects)";
    let Some(last) = key(db, LAST, [])? else { return Ok(vec![]) };
    let mut ends = Vec::new();
    for part in 1..RANGES {
        let place = (i128::from(position.0) * i128::from(part) / i128::from(RANGES)) as i64;
        ends.extend(key(db, "SELECT call_id FROM audit WHERE id >= ?1 ORDER BY id LIMIT 1", [place])?);
    }
    ends.push(last);
    ends.sort();
    ends.dedup();
    let afters = std::iter::once(Key::FIRST).chain(ends.clone());
    Ok(afters.zip(ends).map(|(after, upto)| Range { after, upto }).collect())
}

fn key(db: &Connection, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<Option<Key>> {
    let read = |row: &rusqlite::Row<'_>| Ok(Key::of(row.get_ref(0)?).map(Key::own));
    Ok(db.query_row(sql, params, read).optional()?.flatten())
}

fn counters(db: &Connection) -> rusqlite::Result<BTreeMap<String, Value>> {
    let mut all = db.prepare("SELECT name, value FROM counters")?;
    all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn event(db: &Connection, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<Option<Head>> {
    let read = |row: &rusqlite::Row<'_>| {
        // A hash of the wrong length is told where the event is looked at.
        let hash = row.get_ref(1)?.as_blob().ok().and_then(|bytes| bytes.try_into().ok());
        Ok(Head {
            position: Position(u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0)),
            hash: hash.map_or(ChainHash::ROOT, ChainHash::from_bytes),
        })
    };
    db.query_row(sql, params, read).optional()
}

pub(super) fn value<T: rusqlite::types::FromSql>(
    db: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<Option<T>> {
    db.query_row(sql, params, |row| row.get(0)).optional()
}

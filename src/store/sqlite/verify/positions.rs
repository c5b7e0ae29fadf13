//! The log by position: is any missing, and is the table of calls in its order?
//!
//! Rows of `calls` are in the order in which their keys were taken. So events of different calls that changed places, which
//! no call's own chain can show, are noticed where a call begins.

use rusqlite::Connection;

use super::start::Start;
use super::{Parts, ROWS_AT_ONCE, out_of_order};
use crate::domain::id::Position;
use crate::domain::law::{Law, Violation};
use crate::store::verify::Findings;

/// Positions after ?1 up to ?2, at most ?3; with the place of the call that the event began, if it began one.
const POSITIONS: &str = "SELECT id, \
     CASE version WHEN 1 THEN (SELECT rowid FROM calls WHERE call_id = audit.call_id) END \
     FROM audit WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3";

/// Events that no call's history holds.
const STRAYS: &str = "SELECT id FROM audit AS a NOT INDEXED WHERE id <= ?1 AND NOT EXISTS \
     (SELECT 1 FROM audit INDEXED BY sqlite_autoindex_audit_1 WHERE call_id = a.call_id AND version = a.version \
     AND +id = a.id) LIMIT ?2";

/// Counts the events and finds gaps.
pub(super) fn read(db: &Connection, start: &Start, part: &mut Parts) -> rusqlite::Result<()> {
    let mut statement = db.prepare(POSITIONS)?;
    let upto = start.position.0.cast_signed();
    let (mut after, mut last) = (i64::MIN, 0);
    let mut calls = Order::default();
    loop {
        let mut rows = statement.query((after, upto, ROWS_AT_ONCE as i64))?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            read += 1;
            let id = row.get(0)?;
            if id <= after {
                return Err(out_of_order());
            }
            after = id;
            let problem = match after - last {
                _ if after < 1 => Some(format!("there is a position {after}, and they count from 1")),
                1 => None,
                2 => Some(format!("position {} is missing", last + 1)),
                _ => Some(format!("positions {} to {} are missing", last + 1, after - 1)),
            };
            last = after.max(0);
            let position = Position(after.max(0).cast_unsigned());
            part.findings.extend(
                problem.map(|problem| Violation::new(Law::LogIsTruth, "audit.id", problem).in_log(position)),
            );
            calls.next(row.get(1)?, position, &mut part.findings);
        }
        part.by_position += read;
        if read < ROWS_AT_ONCE as u64 {
            return Ok(());
        }
    }
}

/// The rows of `calls`, in the order of the events that made them.
#[derive(Default)]
struct Order {
    last: i64,
}

impl Order {
    fn next(&mut self, row: Option<i64>, position: Position, findings: &mut Findings) {
        let Some(row) = row else { return };
        if row <= self.last {
            let problem = format!(
                "the row of this event is number {row}, after number {} of an earlier event",
                self.last
            );
            let broken = Violation::new(Law::LogIsTruth, "calls.rowid", problem);
            findings.push(broken.in_log(position));
        }
        self.last = row;
    }
}

/// Names the events that are in no call's history.
pub(super) fn strays(db: &Connection, start: &Start) -> rusqlite::Result<Vec<Violation>> {
    let mut statement = db.prepare(STRAYS)?;
    let found = statement.query_map((start.position.0.cast_signed(), Findings::TOLD as i64), |row| {
        let position = Position(row.get::<_, i64>(0)?.cast_unsigned());
        let problem = "the index of the log does not lead to it";
        Ok(Violation::new(Law::LogIsTruth, "audit.call_id", problem).in_log(position))
    })?;
    let mut found = found.collect::<rusqlite::Result<Vec<_>>>()?;
    if found.is_empty() {
        let problem = "the log by position and the histories of the calls hold different numbers of events";
        found.push(Violation::new(Law::LogIsTruth, "audit.call_id", problem));
    }
    Ok(found)
}

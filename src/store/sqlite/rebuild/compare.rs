//! Holds the rows that the log makes against those that are there, row by row in their order.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, Rows};

use crate::domain::id::Version;
use crate::domain::law::{Law, Violation};
use crate::store::StoreError;
use crate::store::cell::{Cell, differences};
use crate::store::counters::Tally;
use crate::store::projection::{CallRow, EffectRow};
use crate::store::rebuild::Target;
use crate::store::sqlite::error::read_error;
use crate::store::sqlite::verify::{cell, cells};
use crate::store::verify::{Findings, check_counters};

/// The tables as they are, read along.
pub(super) struct Compare<'s> {
    calls: Rows<'s>,
    effects: Rows<'s>,
    counters: BTreeMap<String, Value>,
    findings: &'s mut Findings,
}

impl Compare<'_> {
    /// Reads the tables along with `work`, and then whether there is more in them than was compared.
    pub(super) fn with<T, E: From<StoreError>>(
        db: &Connection,
        findings: &mut Findings,
        work: impl FnOnce(&mut Compare<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let sqlite = |error: rusqlite::Error| E::from(read_error(&error));
        let moment = db.unchecked_transaction().map_err(sqlite)?;
        let mut counters = db.prepare("SELECT name, value FROM counters").map_err(sqlite)?;
        let counters = counters.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sqlite)?;
        let counters = counters.collect::<rusqlite::Result<_>>().map_err(sqlite)?;
        let mut calls = db.prepare(&select("calls", &CallRow::COLUMNS)).map_err(sqlite)?;
        let mut effects = db.prepare(&select("effects", &EffectRow::COLUMNS)).map_err(sqlite)?;
        let mut compare = Compare {
            calls: calls.query([]).map_err(sqlite)?,
            effects: effects.query([]).map_err(sqlite)?,
            counters,
            findings,
        };
        let done = work(&mut compare)?;
        compare.rest().map_err(sqlite)?;
        drop(compare);
        drop((calls, effects));
        moment.finish().map_err(sqlite)?;
        Ok(done)
    }

    /// Rows that the log does not make.
    fn rest(&mut self) -> rusqlite::Result<()> {
        for (table, rows) in [("calls", &mut self.calls), ("effects", &mut self.effects)] {
            while let Some(row) = rows.next()? {
                let call = cell(row.get_ref("call_id")?).to_string();
                let broken =
                    Violation::new(Law::LogIsTruth, table, "there is a row that the log does not make");
                self.findings.push(Violation { call: Some(call), ..broken });
            }
        }
        Ok(())
    }
}

impl Target for Compare<'_> {
    fn call(&mut self, row: &CallRow<'_>) -> Result<(), StoreError> {
        let version = Version(row.state.version.cast_unsigned());
        let (columns, place) = (&CallRow::COLUMNS, ("calls", Some(version)));
        compare(&mut self.calls, columns, &row.cells(), 0, place, self.findings)
            .map_err(|error| read_error(&error))
    }

    fn effect(&mut self, row: &EffectRow<'_>) -> Result<(), StoreError> {
        compare(&mut self.effects, &EffectRow::COLUMNS, &row.cells(), 1, ("effects", None), self.findings)
            .map_err(|error| read_error(&error))
    }

    fn counters(&mut self, counted: &Tally) -> Result<(), StoreError> {
        let stored = self.counters.iter().map(|(name, value)| (name.clone(), cell(value.into()))).collect();
        self.findings.merge(check_counters(&stored, counted));
        Ok(())
    }
}

/// Compares the next row with the one that should be there; `call` is the column that names the call.
fn compare<const N: usize>(
    rows: &mut Rows<'_>,
    columns: &[&'static str; N],
    expected: &[Cell<'_>; N],
    call: usize,
    (table, version): (&'static str, Option<Version>),
    findings: &mut Findings,
) -> rusqlite::Result<()> {
    let mut say = |column: &str, problem: String| {
        let broken = Violation::new(Law::LogIsTruth, format!("{table}{column}"), problem);
        let call = expected[call].as_text().map(Into::into);
        findings.push(Violation { call, version, ..broken });
    };
    match rows.next()? {
        None => say("", "the row is missing".into()),
        Some(row) => {
            let found = cells::<N>(row, 0);
            // From a row that is missing or too many, all that follow are out of place: told once for each, not by column.
            let elsewhere = found[call] != expected[call];
            let first = if elsewhere { call..call + 1 } else { 0..N };
            for (column, problem) in
                differences(&columns[first.clone()], &found[first.clone()], &expected[first])
            {
                say(&format!(".{column}"), problem);
            }
        }
    }
    Ok(())
}

fn select(table: &str, columns: &[&str]) -> String {
    format!("SELECT {} FROM {table} ORDER BY rowid", columns.join(", "))
}

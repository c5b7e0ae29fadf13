//! Holds the rows that the log makes against those that are there, row by row in the order in which both were made.

use std::collections::{BTreeMap, HashSet};

use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator as _;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, Rows, Statement};

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

/// The effect of the call with this id.
const EFFECT: &str = "SELECT effect_id, call_id, tool, amount, created_at FROM effects WHERE effect_id = ?1";

/// Whether the log has the call with this id.
const BEGINNING: &str = "SELECT 1 FROM audit WHERE call_id = ?1 AND version = 1";

/// Whether the row after the one number ?1 is that of the call with this id.
const NEXT_ROW: &str =
    "SELECT 1 FROM (SELECT call_id FROM calls WHERE rowid > ?1 ORDER BY rowid LIMIT 1) WHERE call_id = ?2";

/// Effects of calls that the log does not have.
const STRANGE_EFFECTS: &str = "SELECT call_id FROM effects AS e WHERE NOT EXISTS \
     (SELECT 1 FROM audit WHERE call_id = 'c_' || substr(e.effect_id, 5) AND version = 1)";

/// The tables as they are, read along.
pub(super) struct Compare<'s> {
    db: &'s Connection,
    /// At the row that is to be compared next.
    calls: Rows<'s>,
    /// The row of a call, wherever it lies.
    row: Statement<'s>,
    /// Whether the log has a call.
    beginning: Statement<'s>,
    next_row: Statement<'s>,
    /// Calls whose rows lie before those of calls that were accepted before them.
    early: HashSet<String>,
    effect: Statement<'s>,
    effects_met: i64,
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
        let mut calls = db.prepare(&select("calls", &CallRow::COLUMNS, "ORDER BY rowid")).map_err(sqlite)?;
        let mut compare = Compare {
            db,
            calls: calls.query([]).map_err(sqlite)?,
            row: db.prepare(&select("calls", &CallRow::COLUMNS, "WHERE call_id = ?1")).map_err(sqlite)?,
            beginning: db.prepare(BEGINNING).map_err(sqlite)?,
            next_row: db.prepare(NEXT_ROW).map_err(sqlite)?,
            early: HashSet::new(),
            effect: db.prepare(EFFECT).map_err(sqlite)?,
            effects_met: 0,
            counters,
            findings,
        };
        compare.calls.advance().map_err(sqlite)?;
        let done = work(&mut compare)?;
        compare.rest().map_err(sqlite)?;
        drop(compare);
        drop(calls);
        moment.finish().map_err(sqlite)?;
        Ok(done)
    }

    /// Rows that the log does not make.
    fn rest(&mut self) -> rusqlite::Result<()> {
        while let Some(row) = self.calls.get() {
            let found = cell(row.get_ref("call_id")?);
            if !self.beginning.exists([found])? {
                self.findings.push(unmade("calls", found));
            }
            self.calls.advance()?;
        }
        let effects: i64 = self.db.query_row("SELECT count(*) FROM effects", [], |row| row.get(0))?;
        if effects != self.effects_met {
            let mut strange = self.db.prepare(STRANGE_EFFECTS)?;
            let mut rows = strange.query([])?;
            let mut told = 0;
            while let Some(row) = rows.next()? {
                self.findings.push(unmade("effects", cell(row.get_ref(0)?)));
                told += 1;
            }
            if told == 0 {
                let problem = format!("there are {effects} rows of {} calls", self.effects_met);
                self.findings.push(Violation::new(Law::LogIsTruth, "effects", problem));
            }
        }
        Ok(())
    }

    /// Compares the next row with the one that should be there. Where that is another call's, one row is missing or too many, or
    /// somebody has moved one; the rows after it are where they belong.
    fn compare_call(&mut self, made: &CallRow<'_>) -> rusqlite::Result<()> {
        let expected = made.cells();
        let version = Version(made.state.version.cast_unsigned());
        let broken = |column: &str, problem: String| {
            let broken = Violation::new(Law::LogIsTruth, format!("calls{column}"), problem);
            Violation { call: Some(made.fixed.call_id.to_string()), ..broken.at(version) }
        };
        let differ = |row: &Row<'_>, findings: &mut Findings| {
            let found = cells::<{ CallRow::COLUMNS.len() }>(row, 0);
            for (column, problem) in differences(&CallRow::COLUMNS, &found, &expected) {
                findings.push(broken(&format!(".{column}"), problem));
            }
        };
        while let Some(row) = self.calls.get() {
            let found = cell(row.get_ref(0)?);
            if found == expected[0] {
                differ(row, self.findings);
                return self.calls.advance();
            }
            if !self.beginning.exists([found])? {
                self.findings.push(unmade("calls", found));
            } else if self.next_row.exists((row.get::<_, i64>("rowid")?, expected[0]))? {
                self.findings.push(moved(&found));
                self.early.insert(found.to_string());
            } else {
                break;
            }
            self.calls.advance()?;
        }
        let mut elsewhere = self.row.query([expected[0]])?;
        match elsewhere.next()? {
            Some(row) => {
                differ(row, self.findings);
                if !self.early.contains(&expected[0].to_string()) {
                    self.findings.push(moved(&expected[0]));
                }
            }
            None => self.findings.push(broken("", "the row is missing".into())),
        }
        Ok(())
    }

    fn compare_effect(&mut self, call: &CallRow<'_>, made: Option<&EffectRow<'_>>) -> rusqlite::Result<()> {
        let call_id = &*call.fixed.call_id;
        let mut rows = self.effect.query([call_id.replacen("c_", "eff_", 1)])?;
        let found = rows.next()?.map(|row| cells::<{ EffectRow::COLUMNS.len() }>(row, 0));
        self.effects_met += i64::from(found.is_some());
        match (found, made) {
            (None, None) => {}
            (Some(_), None) => self.findings.push(unmade("effects", Cell::text(call_id))),
            (None, Some(_)) => {
                let missing = Violation::new(Law::LogIsTruth, "effects", "the row is missing");
                self.findings.push(Violation { call: Some(call_id.into()), ..missing });
            }
            (Some(found), Some(made)) => {
                for (column, problem) in differences(&EffectRow::COLUMNS, &found, &made.cells()) {
                    let broken = Violation::new(Law::LogIsTruth, format!("effects.{column}"), problem);
                    self.findings.push(Violation { call: Some(call_id.into()), ..broken });
                }
            }
        }
        Ok(())
    }
}

fn moved(call: &Cell<'_>) -> Violation {
    let broken =
        Violation::new(Law::LogIsTruth, "calls.rowid", "the row does not lie in the order of the log");
    Violation { call: Some(call.as_text().map_or_else(|| call.to_string(), Into::into)), ..broken }
}

fn unmade(table: &'static str, call: Cell<'_>) -> Violation {
    let broken = Violation::new(Law::LogIsTruth, table, "there is a row that the log does not make");
    let call = call.as_text().map_or_else(|| call.to_string(), Into::into);
    Violation { call: Some(call), ..broken }
}

impl Target for Compare<'_> {
    fn call(&mut self, row: &CallRow<'_>, effect: Option<&EffectRow<'_>>) -> Result<(), StoreError> {
        self.compare_call(row)
            .and_then(|()| self.compare_effect(row, effect))
            .map_err(|error| read_error(&error))
    }

    fn counters(&mut self, counted: &Tally) -> Result<(), StoreError> {
        let stored = self.counters.iter().map(|(name, value)| (name.clone(), cell(value.into()))).collect();
        self.findings.merge(check_counters(&stored, counted));
        Ok(())
    }
}

fn select(table: &str, columns: &[&str], which: &str) -> String {
    format!("SELECT {}, rowid FROM {table} {which}", columns.join(", "))
}

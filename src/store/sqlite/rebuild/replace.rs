//! Puts the rows that the log makes in place of those that are there.

use rusqlite::{Connection, Statement, ToSql, params_from_iter, types::ToSqlOutput, types::ValueRef};

use crate::store::StoreError;
use crate::store::cell::Cell;
use crate::store::counters::Tally;
use crate::store::projection::{CallRow, EffectRow};
use crate::store::rebuild::Target;
use crate::store::sqlite::error::read_error;

/// The tables, emptied. What becomes of it is up to the transaction it is done in.
pub(super) struct Replace<'c> {
    insert_call: Statement<'c>,
    insert_effect: Statement<'c>,
    insert_counter: Statement<'c>,
}

impl<'c> Replace<'c> {
    pub(super) fn begin(db: &'c Connection) -> rusqlite::Result<Self> {
        db.execute_batch("DELETE FROM effects; DELETE FROM calls; DELETE FROM counters")?;
        Ok(Self {
            insert_call: db.prepare(&insert("calls", &CallRow::COLUMNS))?,
            insert_effect: db.prepare(&insert("effects", &EffectRow::COLUMNS))?,
            insert_counter: db.prepare(&insert("counters", &["name", "value"]))?,
        })
    }
}

impl Target for Replace<'_> {
    fn call(&mut self, row: &CallRow<'_>) -> Result<(), StoreError> {
        execute(&mut self.insert_call, &row.cells())
    }

    fn effect(&mut self, row: &EffectRow<'_>) -> Result<(), StoreError> {
        execute(&mut self.insert_effect, &row.cells())
    }

    fn counters(&mut self, counted: &Tally) -> Result<(), StoreError> {
        counted.iter().try_for_each(|(counter, value)| {
            let name = counter.to_string();
            execute(&mut self.insert_counter, &[Cell::text(&name), Cell::Integer(value)])
        })
    }
}

fn insert(table: &str, columns: &[&str]) -> String {
    let places = vec!["?"; columns.len()].join(", ");
    format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", "))
}

fn execute(statement: &mut Statement<'_>, cells: &[Cell<'_>]) -> Result<(), StoreError> {
    statement.execute(params_from_iter(cells)).map(drop).map_err(|error| read_error(&error))
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Integer(value) => ValueRef::Integer(*value),
            Cell::Real(value) => ValueRef::Real(*value),
            Cell::Text(text) => ValueRef::Text(text),
            Cell::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

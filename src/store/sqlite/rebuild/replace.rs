//! Puts the rows that the log makes in place of those that are there.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement, ToSql, params_from_iter};

use crate::store::StoreError;
use crate::store::cell::Cell;
use crate::store::counters::Tally;
use crate::store::projection::{CallRow, EffectRow};
use crate::store::rebuild::Target;
use crate::store::sqlite::error::read_error;
use crate::store::sqlite::verify::schema::Difference;

/// The tables, emptied, and made again where somebody has dropped them. What becomes of it is up to the transaction it is done in.
pub(super) struct Replace<'c> {
    insert_call: Statement<'c>,
    insert_effect: Statement<'c>,
    insert_counter: Statement<'c>,
    db: &'c Connection,
    /// What makes the triggers again that keep everybody else from emptying these tables.
    guards: Vec<String>,
}

impl<'c> Replace<'c> {
    pub(super) fn begin(db: &'c Connection, differences: &[Difference]) -> rusqlite::Result<Self> {
        differences.iter().filter_map(Difference::repair).try_for_each(|repair| db.execute_batch(&repair))?;
        let guards = lift_guards(db)?;
        db.execute_batch("DELETE FROM effects; DELETE FROM calls; DELETE FROM counters")?;
        Ok(Self {
            db,
            guards,
            insert_call: db.prepare(&insert("calls", &CallRow::COLUMNS))?,
            insert_effect: db.prepare(&insert("effects", &EffectRow::COLUMNS))?,
            insert_counter: db.prepare(&insert("counters", &["name", "value"]))?,
        })
    }

    /// Puts the guards back.
    pub(super) fn finish(self) -> rusqlite::Result<()> {
        self.guards.iter().try_for_each(|guard| self.db.execute_batch(guard))
    }
}

/// Drops the triggers of the tables that are replaced; returns the statements that made them.
fn lift_guards(db: &Connection) -> rusqlite::Result<Vec<String>> {
    const GUARDS: &str = "SELECT name, sql FROM sqlite_master \
         WHERE type = 'trigger' AND tbl_name IN ('calls', 'effects', 'counters')";
    let mut guards = db.prepare(GUARDS)?;
    let guards = guards.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let guards: Vec<_> = guards.collect::<rusqlite::Result<_>>()?;
    for (name, _) in &guards {
        db.execute_batch(&format!("DROP TRIGGER \"{}\"", name.replace('"', "\"\"")))?;
    }
    Ok(guards.into_iter().map(|(_, sql)| sql).collect())
}

impl Target for Replace<'_> {
    fn call(&mut self, row: &CallRow<'_>, effect: Option<&EffectRow<'_>>) -> Result<(), StoreError> {
        execute(&mut self.insert_call, &row.cells()).map_err(|error| {
            if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) {
                return read_error(&error);
            }
            let (call, key) = (&row.fixed.call_id, row.fixed.idem_key);
            StoreError::Corrupt(format!(
                "the call {call} has the key `{key}` of a call before it in the log ({error}): a row was deleted once, and the \
                 key ran again. Which of the two it is to lead to cannot be told from the log; `callonce log` shows both. Restore \
                 a backup from before"
            ))
        })?;
        let effect = effect.map_or(Ok(()), |effect| execute(&mut self.insert_effect, &effect.cells()));
        effect.map_err(|error| read_error(&error))
    }

    fn counters(&mut self, counted: &Tally) -> Result<(), StoreError> {
        counted.iter().try_for_each(|(counter, value)| {
            let name = counter.to_string();
            execute(&mut self.insert_counter, &[Cell::text(&name), Cell::Integer(value)])
                .map_err(|error| read_error(&error))
        })
    }
}

fn insert(table: &str, columns: &[&str]) -> String {
    let places = vec!["?"; columns.len()].join(", ");
    format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", "))
}

fn execute(statement: &mut Statement<'_>, cells: &[Cell<'_>]) -> rusqlite::Result<()> {
    statement.execute(params_from_iter(cells)).map(drop)
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

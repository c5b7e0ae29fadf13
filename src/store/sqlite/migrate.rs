//! Which schema does the file have, and how does it get the newest one?

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::{describe, open_error};
use super::options::OpenError;

/// One step from a schema to the next; the first one makes it. A step that is released is never changed.
const MIGRATIONS: [&str; 1] = [include_str!("schema.sql")];

/// Marks a SQLite file as ours: `call` in ASCII.
const APPLICATION_ID: i64 = 0x6361_6C6C;

/// What a file is before it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing yet.
    Nothing,
    /// A database of this program, with an older schema.
    Older,
    /// A database of this program.
    Ours,
}

/// Says what is at `path`, and refuses a file that a newer program or another one has made, without changing a byte of it.
pub(super) fn guard(path: &Path, busy_timeout: Duration) -> Result<Found, OpenError> {
    if path.metadata().map_or(true, |file| file.len() == 0) {
        return Ok(Found::Nothing);
    }
    // A connection that writes would empty the WAL into the file when it closes.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let refuse = |problem: String, way_out: &str| {
        Err(OpenError::Refused { path: path.to_owned(), problem, way_out: way_out.into() })
    };
    let look = || -> rusqlite::Result<(i64, i64, bool)> {
        let db = Connection::open_with_flags(path, flags)?;
        db.busy_timeout(busy_timeout)?;
        Ok((
            pragma(&db, "application_id")?,
            pragma(&db, "user_version")?,
            db.query_row("SELECT count(*) > 0 FROM sqlite_master", [], |row| row.get(0))?,
        ))
    };
    let newest = MIGRATIONS.len() as i64;
    match look().map_err(|error| open_error(path, &error))? {
        (APPLICATION_ID, version, _) if version == newest => Ok(Found::Ours),
        (APPLICATION_ID, version, _) if version < newest => Ok(Found::Older),
        (APPLICATION_ID, version, _) => refuse(
            format!("a newer callonce made it (schema {version}; this program knows {newest})"),
            "use the newer program",
        ),
        (0, 0, false) => Ok(Found::Nothing),
        _ => refuse("it is a SQLite database, but not one of callonce".into(), "name another file"),
    }
}

/// Makes sure that there is a database of this program at `path`, with the newest schema, for callers that make none.
///
/// # Errors
/// [`OpenError`] says what is there instead.
pub(super) fn expect_ours(path: &Path, busy_timeout: Duration) -> Result<(), OpenError> {
    let path = path.to_owned();
    match guard(&path, busy_timeout)? {
        Found::Ours => Ok(()),
        Found::Nothing => Err(OpenError::Storage { path, problem: "there is no database here".into() }),
        Found::Older => {
            let problem = "an older callonce made it".into();
            let way_out = "start the server once, which brings it up to date".into();
            Err(OpenError::Refused { path, problem, way_out })
        }
    }
}

/// Brings the file to the newest schema.
pub(super) fn migrate(
    path: &Path,
    db: &Connection,
    failpoint: &dyn Fn(&'static str),
) -> Result<(), OpenError> {
    run(db, &MIGRATIONS, failpoint).map_err(|error| OpenError::Storage {
        path: path.to_owned(),
        problem: format!("it cannot be brought to schema {}: {}", MIGRATIONS.len(), describe(&error)),
    })
}

/// Makes the newest schema in an empty database.
pub(super) fn make(db: &Connection) -> rusqlite::Result<()> {
    run(db, &MIGRATIONS, &|_| {})
}

/// Runs those of `migrations` that the file has not seen, each in one transaction with the number that says so, so that
/// a crash leaves a schema as it was before or after a step.
fn run(db: &Connection, migrations: &[&str], failpoint: &dyn Fn(&'static str)) -> rusqlite::Result<()> {
    let seen = usize::try_from(pragma(db, "user_version")?).unwrap_or(0);
    for (step, sql) in migrations.iter().enumerate().skip(seen) {
        let transaction = Rollback(db);
        db.execute_batch("BEGIN IMMEDIATE")?;
        db.execute_batch(sql)?;
        failpoint("store.migrate");
        db.pragma_update(None, "application_id", APPLICATION_ID)?;
        db.pragma_update(None, "user_version", step as i64 + 1)?;
        db.execute_batch("COMMIT")?;
        drop(transaction);
    }
    Ok(())
}

/// Proves that the file can be written by writing: SQLite opens a file that it may only read without a word, and even
/// begins a transaction on it.
pub(super) fn prove_writable(path: &Path, db: &Connection) -> Result<(), OpenError> {
    let version = MIGRATIONS.len();
    let write = format!("BEGIN IMMEDIATE; PRAGMA user_version = {version}; COMMIT");
    let _transaction = Rollback(db);
    db.execute_batch(&write).map_err(|error| open_error(path, &error))
}

/// Rolls back what was not committed.
struct Rollback<'c>(&'c Connection);

impl Drop for Rollback<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // An error on the way back adds nothing to the one that led here; closing the connection rolls back too.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

fn pragma(db: &Connection, name: &str) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    const STEPS: [&str; 3] = [
        "CREATE TABLE one (x)",
        "CREATE TABLE two (x); ALTER TABLE one ADD COLUMN y",
        "CREATE TABLE three (x)",
    ];

    fn shape(db: &Connection) -> (i64, String) {
        let tables =
            "SELECT coalesce(group_concat(sql, '; '), '') FROM (SELECT sql FROM sqlite_master ORDER BY name)";
        (pragma(db, "user_version").unwrap(), db.query_row(tables, [], |row| row.get(0)).unwrap())
    }

    #[test]
    fn a_crash_inside_a_step_leaves_the_steps_before_it_and_the_next_start_goes_on() {
        let db = Connection::open_in_memory().unwrap();
        run(&db, &STEPS[..1], &|_| {}).unwrap();
        let before = shape(&db);
        let crash = || run(&db, &STEPS, &|_| panic!("as if the process ended here"));
        catch_unwind(AssertUnwindSafe(crash)).unwrap_err();
        assert_eq!(shape(&db), before);
        run(&db, &STEPS, &|_| {}).unwrap();
        let after = shape(&db);
        assert_eq!(after.0, 3);
        run(&db, &STEPS, &|_| panic!("there is nothing left to do")).unwrap();
        assert_eq!(shape(&db), after);
    }

    #[test]
    fn a_step_that_fails_is_undone_whole() {
        let db = Connection::open_in_memory().unwrap();
        run(&db, &["CREATE TABLE one (x); CREATE TABLE one (x)"], &|_| {}).unwrap_err();
        assert_eq!(shape(&db), (0, String::new()));
    }
}

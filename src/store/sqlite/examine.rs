//! Would a server open this database? The checks of a start, each by itself; nothing is written, also beside a server.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _};

use super::connection::{self, Role};
use super::error::open_error;
use super::head::{self, Head, HeadFile};
use super::migrate::Found;
use super::open::{expect_whole_schema, log_beside};
use super::options::{BUSY_TIMEOUT, OpenError};
pub use super::reserve::KEPT_BYTES as KEPT_ASIDE;
use super::{migrate, paths, reserve, version};
use crate::domain::id::Position;
use crate::domain::time::Timestamp;

/// What there is at the path of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// No database yet.
    Nothing,
    /// A database of this program, whose schema the next start brings up to date.
    Older,
    /// A database of this program, with this schema and all of its tables, indexes and triggers.
    Ours,
}

/// How far a log goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEnd {
    /// The last event's position; 0 if there is none.
    pub position: Position,
    /// When that event happened.
    pub at: Option<Timestamp>,
}

/// The version of SQLite in this program.
///
/// # Errors
/// The version, and why it cannot be trusted with a database.
pub fn sqlite_version() -> Result<&'static str, String> {
    match version::guard(Path::new("SQLite"), rusqlite::version_number()) {
        Ok(()) => Ok(rusqlite::version()),
        Err(refusal) => Err(refusal.to_string()),
    }
}

/// The one path of the database that `path` leads to, whether it is there or not.
///
/// # Errors
/// [`OpenError`], as when a store is opened.
pub fn locate(path: &Path) -> Result<PathBuf, OpenError> {
    paths::resolve(path)
}

/// The folder of a path that [`locate`] gave.
pub fn folder(resolved: &Path) -> &Path {
    paths::folder(resolved)
}

/// Whether this process may write the files of the database, and make those that are missing.
///
/// # Errors
/// [`OpenError::Storage`] names the first that it may not.
pub fn guard_access(resolved: &Path) -> Result<(), OpenError> {
    use rustix::fs::{Access, access};
    let folder = paths::folder(resolved);
    access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        let problem = format!("this process may not make files in this folder ({error})");
        OpenError::Storage { path: folder.to_owned(), problem }
    })?;
    let suffixes = ["", "-wal", "-shm", "-lock", "-head", "-reserve"];
    suffixes.iter().try_for_each(|suffix| paths::guard_access(&paths::beside(resolved, suffix)))
}

/// The bytes on the disk that are kept aside beside the database at a path that [`locate`] gave.
pub fn kept_aside(resolved: &Path) -> u64 {
    reserve::kept_aside(resolved)
}

/// What there is at a path that [`locate`] gave.
///
/// # Errors
/// [`OpenError`] says why a server would not open it.
pub fn contents(resolved: &Path) -> Result<Contents, OpenError> {
    match migrate::guard(resolved, BUSY_TIMEOUT)? {
        Found::Nothing => Ok(Contents::Nothing),
        Found::Older => Ok(Contents::Older),
        Found::Ours => {
            expect_whole_schema(resolved, &reader(resolved)?)?;
            Ok(Contents::Ours)
        }
    }
}

/// How far the log of the database goes, once that is as far as its head file says. Where there is no database, a head
/// file may tell of one that was there.
///
/// # Errors
/// [`OpenError::DataLoss`] if it lacks what was durable, or nothing tells whether it does.
pub fn log_end(resolved: &Path, contents: Contents) -> Result<LogEnd, OpenError> {
    let head_file = head::file_name(resolved);
    if contents == Contents::Nothing && !head_file.exists() {
        return Ok(LogEnd { position: Position::START, at: None });
    }
    let known = HeadFile::read(resolved)
        .map_err(|error| OpenError::Storage { path: head_file, problem: error.to_string() })?;
    let sqlite = |error: rusqlite::Error| open_error(resolved, &error);
    let db = match contents {
        Contents::Nothing => None,
        Contents::Older | Contents::Ours => Some(reader(resolved)?),
    };
    let (last, missing) = match &db {
        Some(db) => log_beside(&known, db).map_err(sqlite)?,
        None => (Head::EMPTY, head::missing(&known, Head::EMPTY, None)),
    };
    if let Some(loss) = missing {
        return Err(OpenError::DataLoss { path: resolved.to_owned(), loss });
    }
    let at = db.map(|db| time_of(&db, last.position)).transpose().map_err(sqlite)?.flatten();
    Ok(LogEnd { position: last.position, at })
}

/// When the event at `position` happened.
fn time_of(db: &Connection, position: Position) -> rusqlite::Result<Option<Timestamp>> {
    let time = "SELECT ts FROM audit WHERE id = ?1";
    let seconds = db.query_row(time, [position.0.cast_signed()], |row| row.get(0)).optional()?;
    Ok(seconds.map(Timestamp::from_seconds))
}

fn reader(resolved: &Path) -> Result<Connection, OpenError> {
    connection::open(resolved, Role::Reader, BUSY_TIMEOUT).map_err(|error| open_error(resolved, &error))
}

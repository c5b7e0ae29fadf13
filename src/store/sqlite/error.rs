//! What does an error of SQLite mean for the store?

use std::fmt;
use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use super::options::{OnFatal, OpenError};
use crate::store::StoreError;

/// What is to be done about an error while writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// One append broke a constraint, or met a damaged page: it fails alone.
    Culprit,
    /// The disk is full: nothing was written, and the store goes on.
    Full,
    /// Another program holds the lock: nothing was written, and the store goes on.
    Busy,
    /// Nobody knows what is durable now. Never retried, never answered.
    Fatal,
}

/// The meaning of an error before or at the commit of a transaction.
pub(super) fn meaning(error: &Error) -> Meaning {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            Meaning::Busy
        }
        Some(ErrorCode::DiskFull) => Meaning::Full,
        Some(
            ErrorCode::ConstraintViolation
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::TooBig
            | ErrorCode::TypeMismatch,
        ) => Meaning::Culprit,
        Some(_) => Meaning::Fatal,
        // Not SQLite's own: a column that does not hold what the schema says.
        None => Meaning::Culprit,
    }
}

/// Whether another program's lock was in the way.
pub(super) fn is_busy(error: &Error) -> bool {
    meaning(error) == Meaning::Busy
}

/// Whether there was no space for the index of the WAL, which a reader may have to make. To a writer that is no full disk:
/// what it had written by then may come back.
fn lacks_space_for_index(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
}

/// What a reader answers.
pub(super) fn read_error(error: &Error) -> StoreError {
    match meaning(error) {
        _ if lacks_space_for_index(error) => StoreError::Full(describe(error)),
        Meaning::Culprit => StoreError::Corrupt(describe(error)),
        Meaning::Full => StoreError::Full(describe(error)),
        Meaning::Busy | Meaning::Fatal => StoreError::Unavailable(describe(error)),
    }
}

/// Why a store could not be opened.
pub(super) fn open_error(path: &Path, error: &Error) -> OpenError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => OpenError::Full { path },
        _ if lacks_space_for_index(error) => OpenError::Full { path },
        Some(ErrorCode::NotADatabase) => OpenError::Storage {
            path,
            problem: "it is not a database of SQLite, or its beginning is damaged".into(),
        },
        _ => OpenError::Storage { path, problem: describe(error) },
    }
}

/// The error with SQLite's extended code, which tells a failed fsync from a failed write.
pub(super) fn describe(error: &Error) -> String {
    match error.sqlite_error() {
        Some(code) => format!("{error} (SQLite code {})", code.extended_code),
        None => error.to_string(),
    }
}

/// Ends the process when it is unknown what is durable: no acknowledgement, and no answer that says "failed" either, for
/// the row may come back. The restart looks at what is there.
#[derive(Clone)]
pub(super) struct Fatal {
    database: std::sync::Arc<Path>,
    action: OnFatal,
}

impl Fatal {
    pub(super) fn new(database: &Path, action: OnFatal) -> Self {
        Self { database: database.into(), action }
    }

    /// The database, as it is named in what is logged.
    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    /// What is logged of an error that the store lives with: which file, what was being done, and SQLite's own words.
    pub(super) fn says(&self, doing: &str, error: &Error) -> String {
        format!("{}: {doing}: {}", self.database.display(), describe(error))
    }

    /// Logs what happened and where, and does not return in production.
    pub(super) fn stop(&self, doing: &str, error: &dyn fmt::Display) {
        let database = self.database.display();
        tracing::error!(%database, "{doing} failed: {error}; stopping at once, as nobody knows what is durable");
        (self.action)(&format!("{database}: {doing} failed: {error}"));
    }

    /// Stops the process if the thread that holds the guard panics.
    pub(super) fn on_panic(&self, doing: &'static str) -> OnPanic {
        OnPanic { fatal: self.clone(), doing }
    }
}

/// See [`Fatal::on_panic`].
pub(super) struct OnPanic {
    fatal: Fatal,
    doing: &'static str,
}

impl Drop for OnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fatal.stop(self.doing, &"it panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn failure(code: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn each_error_means_one_thing() {
        let table = [
            (ffi::SQLITE_BUSY, Meaning::Busy),
            (ffi::SQLITE_BUSY_SNAPSHOT, Meaning::Busy),
            (ffi::SQLITE_FULL, Meaning::Full),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, Meaning::Culprit),
            (ffi::SQLITE_CONSTRAINT_TRIGGER, Meaning::Culprit),
            (ffi::SQLITE_CORRUPT, Meaning::Culprit),
            (ffi::SQLITE_IOERR_WRITE, Meaning::Fatal),
            (ffi::SQLITE_IOERR_FSYNC, Meaning::Fatal),
            (ffi::SQLITE_IOERR_SHMSIZE, Meaning::Fatal),
            (ffi::SQLITE_READONLY_DBMOVED, Meaning::Fatal),
            (ffi::SQLITE_NOMEM, Meaning::Fatal),
            (ffi::SQLITE_ERROR, Meaning::Fatal),
        ];
        for (code, expected) in table {
            assert_eq!(meaning(&failure(code)), expected, "SQLite code {code}");
        }
    }

    #[test]
    fn a_reader_without_space_for_its_index_says_so() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            assert!(matches!(read_error(&failure(code)), StoreError::Full(_)), "SQLite code {code}");
            let refused = open_error(Path::new("calls.db"), &failure(code)).to_string();
            assert!(refused.contains("calls.db") && refused.contains("make room"), "{refused}");
        }
    }

    #[test]
    fn the_extended_code_is_named() {
        assert!(describe(&failure(ffi::SQLITE_IOERR_FSYNC)).contains("1034"));
    }
}

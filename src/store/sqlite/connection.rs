//! How is each connection set up? Every setting has its reason here, and is read back: SQLite ignores what it does not know.

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::options::PAGE_CACHE;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The one that writes.
    Writer,
    /// Copies the WAL into the database, beside the writer.
    Checkpointer,
    /// Reads a call or a page of calls.
    Reader,
}

/// A reader's page cache: the inner pages of the indexes; the rest comes from the operating system's cache.
const READER_CACHE_KIB: i64 = 4 << 10;
/// A checkpoint copies pages by the WAL's own index and needs next to no cache.
const CHECKPOINTER_CACHE_KIB: i64 = 256;
/// The size to which the WAL file is cut when it begins anew after a burst.
pub(super) const WAL_FILE_BYTES: i64 = 64 << 20;
/// Distinct statements of a reading connection, with room to spare.
const CACHED_STATEMENTS: usize = 32;
/// How long a switch to WAL waits before it tries again, while another program holds the file.
const WAL_PAUSE: Duration = Duration::from_millis(20);

/// Opens a connection to the database at `path`, which a writer may create.
pub(super) fn open(path: &Path, role: Role, busy_timeout: Duration) -> rusqlite::Result<Connection> {
    // One thread uses a connection, so SQLite need not lock it; and a file name is never a URI.
    let access = match role {
        Role::Writer => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Role::Checkpointer => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Role::Reader => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // First of all: what follows may meet another program's lock.
    db.busy_timeout(busy_timeout)?;
    db.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    checkpoint_on_close(&db, false)?;
    match role {
        Role::Writer => switch_to_wal(&db, busy_timeout)?,
        Role::Checkpointer => expect(&db, "journal_mode", "wal")?,
        // A copy by VACUUM INTO has no WAL until a server opens it, and can be read as it is.
        Role::Reader => {
            expect(&db, "journal_mode", "delete").or_else(|_| expect(&db, "journal_mode", "wal"))?
        }
    }
    // A commit is fsynced before it is acknowledged (L6). NORMAL would be a little faster and lose acknowledged work.
    set(&db, "synchronous", 2)?;
    // macOS only: there, fsync alone leaves the data in the disk's own cache.
    set(&db, "fullfsync", 1)?;
    // Without it, INSERT OR REPLACE would slip past the trigger that keeps the log from being deleted.
    set(&db, "recursive_triggers", 1)?;
    // Checkpoints are run on their own connection, so that no commit waits for one.
    set(&db, "wal_autocheckpoint", 0)?;
    // A page that cannot be read is to be an error, where a memory map would make it a signal that kills the process.
    set(&db, "mmap_size", 0)?;
    // Sorting a page of calls must not need space on a disk that may be full.
    set(&db, "temp_store", 2)?;
    let cache = match role {
        Role::Writer => i64::from(PAGE_CACHE.get()) << 10,
        Role::Checkpointer => CHECKPOINTER_CACHE_KIB,
        Role::Reader => READER_CACHE_KIB,
    };
    set(&db, "cache_size", -cache)?;
    // The WAL is reused from its start; after a burst its file would stay large for ever.
    set(&db, "journal_size_limit", WAL_FILE_BYTES)?;
    Ok(db)
}

/// Keeps another share of the database at hand than the role has by itself.
pub(super) fn keep_at_hand(db: &Connection, mib: NonZeroU32) -> rusqlite::Result<()> {
    set(db, "cache_size", -(i64::from(mib.get()) << 10))
}

/// Commits without an fsync: the weakness [`Weakness::NoSync`](super::Weakness::NoSync).
pub(super) fn never_sync(db: &Connection) -> rusqlite::Result<()> {
    set(db, "synchronous", 0)
}

/// Whether the last connection to close copies the WAL and removes it. Not by itself: after an fsync that failed, a second
/// one may say that all is well although the data is gone, and then the WAL would go too. See `open` for when it may.
pub(super) fn checkpoint_on_close(db: &Connection, yes: bool) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !yes).map(drop)
}

/// Switches the database to WAL mode, or finds that it is. SQLite takes an exclusive lock for the switch without asking
/// the busy timeout, and where it does not get it may answer with the old mode instead of an error.
fn switch_to_wal(db: &Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    let mut waited = Duration::ZERO;
    loop {
        match set_wal(db) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) if waited >= busy_timeout => return Err(ignored("journal_mode", "wal", &mode)),
            Err(error) if waited >= busy_timeout || !super::error::is_busy(&error) => return Err(error),
            Ok(_) | Err(_) => std::thread::sleep(WAL_PAUSE),
        }
        waited += WAL_PAUSE;
    }
}

/// The mode that the database is in after a try. The switch is committed only once the statement has run to its end, which is
/// after the row that tells the mode; whoever stops at the row never hears of a commit that failed.
fn set_wal(db: &Connection) -> rusqlite::Result<String> {
    let mut statement = db.prepare("PRAGMA journal_mode = wal")?;
    let mut rows = statement.query([])?;
    let mut mode = String::new();
    while let Some(row) = rows.next()? {
        mode = row.get(0)?;
    }
    Ok(mode)
}

fn set(db: &Connection, pragma: &str, value: i64) -> rusqlite::Result<()> {
    db.pragma_update(None, pragma, value)?;
    expect(db, pragma, &value.to_string())
}

fn expect(db: &Connection, pragma: &str, value: &str) -> rusqlite::Result<()> {
    let is = db.pragma_query_value(None, pragma, |row| match row.get_ref(0)?.as_str() {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => row.get::<_, i64>(0).map(|number| number.to_string()),
    })?;
    if is == value { Ok(()) } else { Err(ignored(pragma, value, &is)) }
}

fn ignored(pragma: &str, value: &str, is: &str) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR);
    rusqlite::Error::SqliteFailure(
        code,
        Some(format!("`PRAGMA {pragma} = {value}` was ignored: it is `{is}`")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::types::Value;

    #[test]
    fn each_connection_is_set_up_as_promised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.db");
        let _first = open(&path, Role::Writer, Duration::from_secs(5)).unwrap();
        for (role, cache) in [(Role::Writer, 32_768), (Role::Checkpointer, 256), (Role::Reader, 4096)] {
            let db = open(&path, role, Duration::from_secs(5)).unwrap();
            let is =
                |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, Value>(0)).unwrap();
            assert_eq!(is("journal_mode"), Value::Text("wal".into()), "{role:?}");
            for (pragma, value) in [
                ("synchronous", 2),
                ("busy_timeout", 5000),
                ("recursive_triggers", 1),
                ("wal_autocheckpoint", 0),
                ("mmap_size", 0),
                ("cache_size", -cache),
                ("journal_size_limit", 64 << 20),
            ] {
                assert_eq!(is(pragma), Value::Integer(value), "{pragma} of {role:?}");
            }
        }
    }

    #[test]
    fn a_setting_that_is_ignored_is_an_error() {
        // A database in memory has no WAL.
        let db = Connection::open_in_memory().unwrap();
        let error = switch_to_wal(&db, Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("journal_mode = wal") && error.contains("memory"), "{error}");
    }
}

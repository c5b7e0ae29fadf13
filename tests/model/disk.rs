//! What is on disk? A SQLite store that is closed, dropped and killed, and its tables, asked in plain SQL.

use std::fs;
use std::path::PathBuf;

use callonce::domain::law::StoredEffect;
use callonce::store::sqlite::{Options, SqliteStore, rebuild, verify};
use callonce::store::verify::Report;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// Rows that mix states, or do not add up with the log.
const MIXED: &str = "
  SELECT count(*) FROM calls c WHERE
     (status = 'pending' AND (lease_until IS NOT NULL OR owner IS NOT NULL OR held_since IS NOT NULL))
  OR (status = 'running' AND held_since IS NULL AND (lease_until IS NULL OR owner IS NULL))
  OR (status = 'running' AND held_since IS NOT NULL AND (lease_until IS NOT NULL OR owner IS NOT NULL))
  OR (status IN ('succeeded', 'failed') AND (lease_until IS NOT NULL OR owner IS NOT NULL OR held_since IS NOT NULL
      OR open_attempt IS NOT NULL))
  OR (status = 'succeeded') <> (result_json IS NOT NULL)
  OR (status = 'failed') <> (error_json IS NOT NULL)
  OR (effect_id IS NOT NULL) <> ((SELECT count(*) FROM effects e WHERE e.call_id = c.call_id) = 1)
  OR attempt <> (SELECT count(*) FROM audit a WHERE a.call_id = c.call_id AND event = 'claimed')
  OR version <> (SELECT count(*) FROM audit a WHERE a.call_id = c.call_id)";

/// Where a database lies.
pub struct Disk {
    folder: TempDir,
}

impl Disk {
    /// An empty folder.
    pub fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder") }
    }

    /// The database.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("calls.db")
    }

    /// Opens it as a server does.
    pub fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.path(), Options::default()).expect("nothing is missing in it")
    }

    /// What a kill would leave, while the store is open: the head first and the log of writes before the file, so that each
    /// is at least as new as the one before it says.
    pub fn killed(&self) -> Self {
        let image = Self::new();
        let mut names: Vec<_> = fs::read_dir(self.folder.path())
            .expect("the folder is there")
            .map(|entry| entry.expect("it can be read").file_name())
            .collect();
        let place = |name: &str| (name == "calls.db", name.ends_with("-wal"));
        names.sort_by_key(|name| place(&name.to_string_lossy()));
        for name in names {
            let shown = name.to_string_lossy();
            if !shown.ends_with("-shm") && !shown.ends_with("lock") {
                fs::copy(self.folder.path().join(&name), image.folder.path().join(&name)).expect("a copy");
            }
        }
        image
    }

    /// The effects of a call.
    pub fn effects(&self, call_id: &str) -> Vec<StoredEffect> {
        let db = self.look();
        let mut rows = db.prepare("SELECT effect_id, amount FROM effects WHERE call_id = ?1").expect("SQL");
        let effects =
            rows.query_map([call_id], |row| Ok(StoredEffect { effect_id: row.get(0)?, amount: row.get(1)? }));
        effects.expect("it can be read").map(|effect| effect.expect("a row")).collect()
    }

    /// A database that is closed: every check of the product passes, and the tables are what the log makes, byte for byte.
    pub fn check(&self, events: u64, calls: u64) {
        let report = self.check_as_it_is();
        assert_eq!((report.events, report.calls), (events, calls), "verified");
    }

    /// The same, of a database whose size nobody counted.
    pub fn check_as_it_is(&self) -> Report {
        let report = verify::verify(&self.path(), None, &|_, _| {}).expect("it can be read");
        assert!(report.findings.first().is_empty() && report.unchecked.is_empty(), "{report:#?}");
        assert_eq!(self.look().query_row(MIXED, [], |row| row.get::<_, i64>(0)), Ok(0), "mixed rows");
        let compared =
            rebuild::compare(&self.path(), &Options::default(), &|_, _| {}).expect("it can be read");
        assert!(compared.findings.first().is_empty(), "{compared:#?}");
        let before = self.tables();
        rebuild::rebuild(&self.path(), &Options::default(), &|_, _| {}).expect("the log is whole");
        assert_eq!(self.tables(), before, "the tables after a rebuild");
        report
    }

    fn tables(&self) -> Vec<Vec<Value>> {
        let db = self.look();
        let mut all = Vec::new();
        for table in [
            "SELECT rowid, * FROM calls ORDER BY rowid",
            "SELECT * FROM effects ORDER BY effect_id",
            // A counter that fell to nothing need not be there.
            "SELECT * FROM counters WHERE value > 0 ORDER BY name",
        ] {
            let mut rows = db.prepare(table).expect("SQL");
            let columns = rows.column_count();
            let rows = rows.query_map([], |row| (0..columns).map(|column| row.get(column)).collect());
            all.extend(rows.expect("it can be read").map(|row| row.expect("a row")));
        }
        all
    }

    fn look(&self) -> Connection {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(self.path(), flags).expect("it is there")
    }
}

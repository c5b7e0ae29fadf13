//! The file itself, read beside the server or after it: what SQL sees, and whether the tables are the fold of the log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callonce::domain::id::{CallId, Position};
use callonce::store::projection::EffectRow;
use callonce::store::sqlite::SqliteReader;
use callonce::store::{Recorded, Snapshot};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::laws::LAWS;

/// A database, open for reading.
pub struct Db {
    path: PathBuf,
    sql: Connection,
}

impl Db {
    pub fn open(path: &Path) -> Self {
        let sql = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
        Self { path: path.to_owned(), sql: sql.expect("the database can be read") }
    }

    /// What `sql` finds, a line a row, as the sqlite3 program prints it.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        let mut statement = self.sql.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            let texts = (0..columns).map(|column| row.get_ref(column).map(text));
            Ok(texts.collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
        };
        let rows = statement.query_map([], row).and_then(Iterator::collect);
        rows.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The one number that `sql` finds.
    pub fn count(&self, sql: &str) -> i64 {
        let found = self.sql.query_row(sql, [], |row| row.get(0));
        found.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The names of the events of a key's call, in order.
    pub fn events(&self, key: &str) -> Vec<String> {
        self.rows(&format!(
            "SELECT event FROM audit JOIN calls USING (call_id) WHERE idem_key = '{key}' ORDER BY audit.version"
        ))
    }

    /// Fails unless every law holds: asked in SQL, which knows nothing of this program, and by folding the log.
    pub fn keeps_the_laws(&self) {
        assert_eq!(self.rows("PRAGMA integrity_check"), ["ok"]);
        for (law, violations) in LAWS {
            assert_eq!(self.rows(violations), Vec::<String>::new(), "broken: {law}");
        }
        self.is_the_fold_of_its_log();
    }

    /// Every row of `calls` and `effects` is what its events make of it, to the last column.
    fn is_the_fold_of_its_log(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
        runtime.block_on(async {
            let reader = SqliteReader::open(&self.path).expect("the database opens");
            let log = reader.scan(Position::START, usize::MAX).await.expect("the log can be read");
            let calls = fold(&log);
            for (id, folded) in &calls {
                // A row is read with proof that it is exactly the row of the call that it shows.
                let stored = reader.load(*id).await.expect("the call can be read");
                assert_eq!(stored.as_ref(), Some(folded), "the row of {id} is not what its events say");
            }
            assert_eq!(self.count("SELECT count(*) FROM calls"), calls.len() as i64, "a call without events");
            let effects = calls.values().filter_map(|call| {
                let effect = EffectRow::of(call)?;
                let amount = effect.amount.map(|amount| amount.to_string()).unwrap_or_default();
                Some(format!("{}|{}|{}|{amount}", effect.effect_id, effect.call_id, effect.tool))
            });
            let mut effects: Vec<_> = effects.collect();
            effects.sort_unstable();
            assert_eq!(
                self.rows("SELECT effect_id, call_id, tool, amount FROM effects ORDER BY effect_id"),
                effects
            );
        });
    }
}

fn fold(log: &[Recorded]) -> BTreeMap<CallId, Snapshot> {
    let mut calls = BTreeMap::new();
    for Recorded { position, entry } in log {
        let before = calls.remove(&entry.call_id).unwrap_or_else(Snapshot::absent);
        let (after, again) =
            before.apply(entry.event.clone()).expect("every event follows from the ones before");
        assert_eq!(again, *entry, "the event at {position} is not chained to the one before it");
        calls.insert(entry.call_id, after);
    }
    calls
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

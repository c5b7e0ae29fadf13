//! Does every read find its rows by an index, however many calls there are? Asked of SQLite itself.

use rusqlite::Connection;

use super::{append, due, list, migrate, read};

/// How SQLite finds the rows of the tables for `sql`: its steps that touch `calls` or `audit`.
fn steps(sql: &str) -> Vec<String> {
    let db = Connection::open_in_memory().unwrap();
    migrate::migrate(":memory:".as_ref(), &db, &|_| {}).unwrap();
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let parameters = rusqlite::params_from_iter(vec![1; statement.parameter_count()]);
    let steps = statement.query_map(parameters, |row| row.get::<_, String>(3)).unwrap();
    let steps = steps.map(Result::unwrap).filter(|step| step.contains(" calls") || step.contains(" audit"));
    steps.collect()
}

/// The index of calls that wait for their time holds only those, so going through all of it is no walk through the table.
#[test]
fn every_read_searches_and_none_walks_a_table() {
    let waiting = "SEARCH calls USING INDEX idx_calls_status (status=? AND lease_until=?";
    let table = [
        (read::LOAD, vec!["SEARCH calls USING INDEX sqlite_autoindex_calls_1 (call_id=?)".to_owned()]),
        (read::FIND, vec!["SEARCH calls USING INDEX sqlite_autoindex_calls_2 (idem_key=?)".to_owned()]),
        (
            read::HASH,
            vec!["SEARCH audit USING INDEX sqlite_autoindex_audit_1 (call_id=? AND version=?)".to_owned()],
        ),
        (
            read::HISTORY,
            vec!["SEARCH audit USING INDEX sqlite_autoindex_audit_1 (call_id=? AND version>?)".to_owned()],
        ),
        (read::SCAN, vec!["SEARCH audit USING INTEGER PRIMARY KEY (rowid>?)".to_owned()]),
        (
            due::DUE,
            vec![
                "SEARCH calls USING INDEX idx_calls_ready (tool=? AND rowid>?)".to_owned(),
                "SEARCH calls USING INDEX idx_calls_due (tool=? AND due_at<?)".to_owned(),
            ],
        ),
        (
            due::EXPIRED,
            vec!["SEARCH calls USING INDEX idx_calls_status (status=? AND lease_until<?)".to_owned()],
        ),
        (
            due::LEASES_OVER,
            vec!["SEARCH calls USING INDEX idx_calls_status (status=? AND lease_until<?)".to_owned()],
        ),
        (
            due::OLDEST_PENDING,
            vec![
                "SEARCH calls USING INTEGER PRIMARY KEY (rowid=?)".to_owned(),
                format!("{waiting})"),
                "SEARCH calls USING COVERING INDEX idx_calls_due".to_owned(),
            ],
        ),
        (
            list::PENDING,
            vec![format!("{waiting} AND rowid<?)"), "SCAN calls USING INDEX idx_calls_due".to_owned()],
        ),
        (list::RUNNING, vec!["SEARCH calls USING INDEX idx_calls_status (status=?)".to_owned()]),
        (
            list::RUNNING_NOT_HELD,
            vec!["SEARCH calls USING INDEX idx_calls_status (status=? AND lease_until>?)".to_owned()],
        ),
        (list::HELD, vec!["SEARCH calls USING INDEX idx_calls_held (status=? AND rowid<?)".to_owned()]),
        (list::FAILED, vec!["SEARCH calls USING INDEX idx_calls_failed (status=? AND rowid<?)".to_owned()]),
        (list::OF_CLIENT, vec!["SEARCH calls USING INDEX idx_calls_client_seq (client_id=?)".to_owned()]),
        (list::STEP_BACK, vec!["SEARCH calls USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)".to_owned()]),
        (
            append::UPDATE_CALL,
            vec!["SEARCH calls USING INDEX sqlite_autoindex_calls_1 (call_id=?)".to_owned()],
        ),
    ];
    for (sql, expected) in table {
        assert_eq!(steps(sql), expected, "{sql}");
    }
}

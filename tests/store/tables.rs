//! Do the tables hold what they say, for people's own tools too, and is damage noticed?

use std::process::Command;

use callonce::domain::id::{Position, Version};
use callonce::domain::policy::Interrupted;
use callonce::store::projection::CallRow;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::SqliteStore;
use callonce::store::{Filter, Store, StoreError};
use callonce::testing::random_calls::{at, claim, fail, not_happened, recover, request, retry_at, succeed};
use rusqlite::types::Value;

use crate::support::{Place, created, does, loaded, log, tries};

/// One call in each state there is: pending, pending with a due time, recovered, running, held, succeeded, failed for
/// good, failed and retryable.
async fn one_of_each(store: &SqliteStore) -> Vec<Snapshot> {
    let mut calls = Vec::new();
    for n in 1..=8 {
        let call = created(store, n).await;
        let call = match n {
            1 => call,
            2 => {
                let failed = does(store, &does(store, &call, claim(10, "w")).await, fail(11, 1, true)).await;
                store.append(&failed, vec![retry_at(12, 500)]).await.unwrap()
            }
            _ => does(store, &call, claim(10, "w")).await,
        };
        calls.push(match n {
            3 => does(store, &call, recover(40, 1, Interrupted::Replay)).await,
            5 => does(store, &call, recover(40, 1, Interrupted::Hold)).await,
            6 => does(store, &call, succeed(20, 1)).await,
            7 => does(store, &call, fail(20, 1, false)).await,
            8 => does(store, &call, fail(20, 1, true)).await,
            _ => call,
        });
    }
    calls
}

#[tokio::test]
async fn a_row_is_the_fold_of_the_log_column_by_column() {
    let place = Place::new();
    let store = place.open();
    let calls = one_of_each(&store).await;
    let mut folded: Vec<Snapshot> = Vec::new();
    for event in log(&store).await {
        let id = event.entry.call_id;
        let place = folded.iter().position(|call| call.call.request().unwrap().call_id == id);
        let before = place.map_or(Snapshot::absent(), |place| folded[place].clone());
        let (after, entry) = before.apply(event.entry.event.clone()).unwrap();
        assert_eq!(entry, event.entry);
        match place {
            Some(place) => folded[place] = after,
            None => folded.push(after),
        }
    }
    assert_eq!(folded, calls);
    let db = place.meddler();
    let mut statement = db.prepare("SELECT * FROM calls ORDER BY rowid").unwrap();
    let columns: Vec<String> = statement.column_names().map(Into::into).collect();
    let rows = statement.query_map([], |row| (0..columns.len()).map(|at| row.get(at)).collect());
    let rows: Vec<Vec<Value>> = rows.unwrap().map(Result::unwrap).collect();
    for (call, row) in folded.iter().zip(rows) {
        for (column, (is, due)) in columns.iter().zip(row.into_iter().zip(columns_of(call, &columns))) {
            assert_eq!(is, due, "{column} of {:?}", call.call);
        }
    }
    let effects: Vec<(String, String, String, i64, f64)> = db
        .prepare("SELECT * FROM effects")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let (call, effect) = (request(6).call_id.to_string(), request(6).effect_id().to_string());
    assert_eq!(effects, [(effect, call, "charge".into(), 7, at(20).as_seconds())]);
}

/// What each column has to hold for this call.
fn columns_of(call: &Snapshot, columns: &[String]) -> Vec<Value> {
    let CallRow { fixed, state, checksum } = CallRow::of(call).unwrap();
    let optional = |text: Option<&str>| text.map(str::to_owned).into();
    columns
        .iter()
        .map(|column| match column.as_str() {
            "call_id" => fixed.call_id.to_string().into(),
            "idem_key" => fixed.idem_key.to_owned().into(),
            "fingerprint" => fixed.fingerprint.to_string().into(),
            "client_id" => optional(fixed.client_id),
            "seq" => fixed.seq.into(),
            "tool" => fixed.tool.to_owned().into(),
            "args_json" => fixed.args_json.to_owned().into(),
            "status" => state.status.to_owned().into(),
            "result_json" => optional(state.result_json),
            "error_json" => optional(state.error_json.as_deref()),
            "attempt" => state.attempt.into(),
            "lease_until" => state.lease_until.into(),
            "owner" => optional(state.owner),
            "effect_id" => optional(state.effect_id.as_deref()),
            "created_at" => fixed.created_at.into(),
            "updated_at" => state.updated_at.into(),
            "version" => state.version.into(),
            "chain" => state.chain.to_vec().into(),
            "held_since" => state.held_since.into(),
            "held_reason" => optional(state.held_reason),
            "due_at" => state.due_at.into(),
            "open_attempt" => state.open_attempt.into(),
            "effect_amount" => state.effect_amount.into(),
            "fingerprint_scheme" => fixed.fingerprint_scheme.into(),
            "checksum" => checksum.into(),
            other => panic!("nothing is known of the column {other}"),
        })
        .collect()
}

/// The columns that people's own SQL reads, as it prints them, for each state.
#[tokio::test]
async fn the_columns_of_each_state_are_as_described() {
    let place = Place::new();
    let store = place.open();
    one_of_each(&store).await;
    let db = place.meddler();
    let mut statement = db
        .prepare(
            "SELECT status, attempt, lease_until IS NOT NULL, owner, effect_id IS NOT NULL, result_json, error_json, \
             held_reason, due_at IS NOT NULL, open_attempt FROM calls ORDER BY rowid",
        )
        .unwrap();
    let rows = statement.query_map([], |row| {
        let values: Vec<Value> = (0..10).map(|at| row.get(at)).collect::<Result<_, _>>()?;
        Ok(values
            .into_iter()
            .map(|value| match value {
                Value::Null => "-".into(),
                Value::Integer(number) => number.to_string(),
                Value::Text(text) => text,
                other => panic!("{other:?}"),
            })
            .collect::<Vec<String>>()
            .join(" "))
    });
    let rows: Vec<String> = rows.unwrap().map(Result::unwrap).collect();
    let error = r#"{"code":"declined","message":"card \"4242\"\n\u0001 said no","retryable":"#;
    assert_eq!(
        rows,
        [
            "pending 0 0 - 0 - - - 0 -".to_owned(),
            "pending 1 0 - 0 - - - 1 -".into(),
            "pending 1 0 - 0 - - - 0 1".into(),
            "running 1 1 w 0 - - - 0 1".into(),
            "running 1 0 - 0 - - owner_gone 0 1".into(),
            r#"succeeded 1 0 - 1 {"charged":7,"note":"żółć 🦀"} - - 0 -"#.into(),
            format!("failed 1 0 - 0 - {error}false}} - 0 -"),
            format!("failed 1 0 - 0 - {error}true}} - 0 -"),
        ]
    );
}

#[tokio::test]
async fn the_log_cannot_be_changed_by_accident() {
    let place = Place::new();
    let store = place.open();
    created(&store, 1).await;
    let meddler = place.meddler();
    meddler.execute_batch("PRAGMA recursive_triggers = ON").unwrap();
    for accident in [
        "UPDATE audit SET detail = 'other'",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit SELECT * FROM audit",
        "REPLACE INTO audit (id, ts, call_id, event, version, payload, hash) VALUES (1, 0, 'c', 'x', 1, x'00', x'00')",
    ] {
        let error = meddler.execute_batch(accident).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{accident}: {error}");
    }
    // The store's own connection has the setting that makes REPLACE ask the trigger.
    store
        .inspect_writer(|db| {
            let error = db.execute_batch("INSERT OR REPLACE INTO audit SELECT * FROM audit").unwrap_err();
            assert!(error.to_string().contains("append-only"), "{error}");
        })
        .await;
    assert_eq!(log(&store).await.len(), 1);
}

/// A key whose row is gone would be free again.
#[tokio::test]
async fn no_key_and_no_effect_can_be_taken_away_by_accident() {
    let place = Place::new();
    let store = place.open();
    let call = created(&store, 1).await;
    let call = does(&store, &call, claim(2, "w")).await;
    does(&store, &call, succeed(3, 1)).await;
    let meddler = place.meddler();
    for (accident, says) in [
        ("DELETE FROM calls", "never deleted"),
        ("UPDATE calls SET idem_key = 'other'", "neither is ever changed"),
        ("UPDATE calls SET call_id = 'other'", "neither is ever changed"),
        ("DELETE FROM effects", "never deleted"),
        ("UPDATE effects SET amount = 8", "never changed"),
    ] {
        let error = meddler.execute_batch(accident).unwrap_err().to_string();
        assert!(error.contains(says), "{accident}: {error}");
    }
}

/// Whatever bit of a row changes, the row is not an answer any more, by whichever way it is read.
#[tokio::test]
async fn a_changed_column_is_corrupt_and_not_an_answer() {
    let changes = [
        "status = 'pending'",
        "status = 'gone'",
        "result_json = '{\"charged\":8}'",
        "error_json = '{}'",
        "attempt = attempt + 1",
        "lease_until = 5.0",
        "owner = 'x'",
        "effect_id = NULL",
        "effect_amount = 8",
        "updated_at = updated_at + 0.000001",
        "created_at = created_at - 1",
        "version = version + 1",
        "chain = zeroblob(32)",
        "chain = x'00'",
        "held_since = 1.5",
        "held_reason = 'timeout'",
        "due_at = 1.5",
        "open_attempt = 0",
        "fingerprint_scheme = 2",
        "fingerprint = replace(fingerprint, substr(fingerprint, 1, 1), 'x')",
        "idem_key = 'key-7'",
        "client_id = 'c'",
        "seq = 1",
        "tool = 'sleep'",
        "tool = CAST('charge' AS BLOB)",
        "args_json = '{\"amount\":7}'",
        "args_json = CAST(x'ff' AS TEXT)",
        "checksum = checksum + 1",
    ];
    for change in changes {
        let place = Place::new();
        let store = place.open();
        let running = does(&store, &created(&store, 1).await, claim(2, "w")).await;
        does(&store, &running, succeed(3, 1)).await;
        place
            .meddler()
            .execute_batch(&format!(
                "PRAGMA ignore_check_constraints = ON; DROP TRIGGER calls_keep_their_keys; UPDATE calls SET {change}"
            ))
            .unwrap();
        let corrupt = |read: Result<_, StoreError>| match read {
            Err(StoreError::Corrupt(problem)) => problem,
            other => panic!("{change}: {other:?}"),
        };
        corrupt(store.load(request(1).call_id).await);
        if !change.starts_with("idem_key") {
            corrupt(store.find(&request(1).key).await);
        }
        corrupt(store.list(&Filter::default(), None, 10).await.map(|mut calls| calls.pop()));
        // A late writer is not told of it as if it were the call.
        let late = tries(&store, &running, fail(4, 1, true)).await;
        match crate::support::store_error(late) {
            StoreError::Corrupt(problem) => assert!(problem.contains("call"), "{change}: {problem}"),
            other => panic!("{change}: {other:?}"),
        }
        created(&store, 2).await;
    }
}

/// The log notices by itself: the payload, the hash and the columns for people have to agree.
#[tokio::test]
async fn a_changed_event_is_corrupt_and_not_an_answer() {
    for (change, seen_in_scan) in [
        ("payload = substr(payload, 1, length(payload) - 1)", true),
        ("payload = payload || x'00'", true),
        ("payload = x'010901000000'", true),
        ("event = 'archived_v9'", true),
        ("detail = 'other'", true),
        ("ts = ts + 1", true),
        ("hash = x'00'", true),
        ("hash = zeroblob(32)", false),
        ("version = 9", false),
    ] {
        let place = Place::new();
        let store = place.open();
        does(&store, &created(&store, 1).await, claim(2, "w")).await;
        let meddler = place.meddler();
        meddler
            .execute_batch(&format!(
                "DROP TRIGGER audit_is_never_updated; UPDATE audit SET {change} WHERE id = 2"
            ))
            .unwrap();
        let history = store.history(request(1).call_id, Version::NONE, 10).await;
        match history {
            Err(StoreError::Corrupt(problem)) => {
                assert!(problem.contains("position 2"), "{change}: {problem}")
            }
            other => panic!("{change}: {other:?}"),
        }
        let scan = store.scan(Position(1), 10).await;
        assert_eq!(matches!(scan, Err(StoreError::Corrupt(_))), seen_in_scan, "{change}: {scan:?}");
        assert_eq!(
            store.scan(Position::START, 1).await.map(|events| events.len()),
            Ok(1),
            "the first is sound"
        );
    }
}

/// Events of a program that is newer, or that was never ours: named by where they are, and never skipped.
#[tokio::test]
async fn an_unknown_event_is_named_and_not_skipped() {
    let place = Place::new();
    let store = place.open();
    created(&store, 1).await;
    place
        .meddler()
        .execute(
            "INSERT INTO audit (ts, call_id, event, version, payload, hash) VALUES (0, ?1, 'archived_v9', 2, x'01090100000000', zeroblob(32))",
            [request(1).call_id.to_string()],
        )
        .unwrap();
    created(&store, 2).await;
    match store.scan(Position::START, 10).await {
        Err(StoreError::Corrupt(problem)) => {
            assert!(problem.contains("position 2") && problem.contains("unknown kind 9"), "{problem}");
        }
        other => panic!("{other:?}"),
    }
}

/// A page ends where it ends, however the positions jump.
#[tokio::test]
async fn gaps_in_the_positions_lose_and_repeat_nothing() {
    let place = Place::new();
    let store = place.open();
    for n in 1..=5 {
        created(&store, n).await;
        let next = [0, 1, 2, 4_999, 99_999, 100_000][usize::try_from(n).unwrap()];
        place.meddler().execute("UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'audit'", [next]).unwrap();
    }
    let mut seen = Vec::new();
    let mut after = Position::START;
    loop {
        let page = store.scan(after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.position;
        seen.extend(page.into_iter().map(|event| event.position.0));
    }
    assert_eq!(seen, [1, 2, 3, 5_000, 100_000]);
    assert_eq!(store.stats(at(0)).await.unwrap().position, Some(Position(100_000)));
}

/// Order comes from the log, never from a clock: these events are equally old, or older than the ones before them.
#[tokio::test]
async fn a_clock_that_goes_back_changes_no_order() {
    let place = Place::new();
    let store = place.open();
    let mut call = created(&store, 900).await;
    for command in [
        claim(800, "w"),
        recover(800, 1, Interrupted::Hold),
        not_happened(-5),
        claim(-5, "w"),
        succeed(-9, 2),
    ] {
        call = does(&store, &call, command).await;
    }
    let second = created(&store, 100).await;
    assert_eq!(loaded(&store, 900).await, Some(call.clone()));
    let mut folded = Snapshot::absent();
    for event in store.history(request(900).call_id, Version::NONE, 10).await.unwrap() {
        folded = folded.apply(event.entry.event).unwrap().0;
    }
    assert_eq!(folded, call);
    assert_eq!(
        store.list(&Filter::default(), None, 10).await.unwrap(),
        [second, call],
        "the last to arrive first"
    );
}

/// The statements that people run by hand, with the answers they expect.
const PLAIN_SQL: [(&str, &str); 4] = [
    ("SELECT call_id,status,attempt,effect_id FROM calls;", "CALL|succeeded|1|EFFECT\n"),
    ("SELECT call_id,count(*) FROM effects GROUP BY call_id HAVING count(*)>1;", ""),
    (
        "SELECT call_id,event,detail FROM audit ORDER BY id;",
        "CALL|created|charge\nCALL|claimed|w\nCALL|succeeded|EFFECT\n",
    ),
    ("SELECT attempt, count(*) FROM calls GROUP BY attempt ORDER BY attempt;", "1|1\n"),
];

/// People look with their own tools. The linked SQLite reads the live file; an older one, where the machine has it, reads
/// a copy, because old versions are not to be trusted with a live WAL.
#[tokio::test]
async fn plain_sql_on_the_three_tables_works_as_documented() {
    let place = Place::new();
    let store = place.open();
    let running = does(&store, &created(&store, 1).await, claim(2, "w")).await;
    does(&store, &running, succeed(3, 1)).await;
    let (call, effect) = (request(1).call_id.to_string(), request(1).effect_id().to_string());
    let due = |text: &str| text.replace("CALL", &call).replace("EFFECT", &effect);
    let db = place.meddler();
    for (sql, prints) in PLAIN_SQL {
        let mut statement = db.prepare(sql).unwrap();
        let width = statement.column_count();
        let lines = statement.query_map([], |row| {
            let cells: Vec<String> = (0..width)
                .map(|at| {
                    Ok(row
                        .get_ref(at)?
                        .as_str()
                        .map_or_else(|_| row.get::<_, i64>(at).unwrap().to_string(), Into::into))
                })
                .collect::<rusqlite::Result<_>>()?;
            Ok(cells.join("|") + "\n")
        });
        let printed: String = lines.unwrap().map(Result::unwrap).collect();
        assert_eq!(printed, due(prints), "{sql}");
    }
    drop(db);
    store.close().await;
    let copy = place.folder().join("copy.db");
    std::fs::copy(place.database(), &copy).unwrap();
    if Command::new("sqlite3").arg("--version").output().is_ok() {
        for (sql, prints) in PLAIN_SQL {
            let printed = Command::new("sqlite3").arg(&copy).arg(sql).output().unwrap();
            assert_eq!(String::from_utf8(printed.stdout).unwrap(), due(prints), "{sql}");
        }
    }
}

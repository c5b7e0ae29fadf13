//! Does the store refuse to open what it must not, say why, and leave it untouched?

use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use callonce::store::Store;
use callonce::store::sqlite::rebuild;
use callonce::store::sqlite::{Holder, OpenError, Options, SqliteReader, holder};
use callonce::testing::random_calls::at;

use crate::child::{Child, LOCKED, OPENED, STORAGE};
use crate::support::{Place, created, loaded, log};

fn refused(error: &OpenError) -> &str {
    match error {
        OpenError::Refused { problem, .. } => problem,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_second_server_is_told_who_has_it() {
    let place = Place::new();
    let here = Holder { pid: 4242, boot: Some("7f3a".into()), since: Some("2026-12-01T02:03:04Z".into()) };
    let store = place.open_with(Options::new(here)).unwrap();
    match place.refusal() {
        OpenError::Locked { by, .. } => assert_eq!(by, "process 4242, boot 7f3a, since 2026-12-01T02:03:04Z"),
        other => panic!("{other:?}"),
    }
    let said = holder(&place.database()).unwrap();
    assert!(said.unwrap().contains("4242"));
    created(&store, 1).await;
    store.close().await;
    assert_eq!(holder(&place.database()).unwrap(), None);
    assert!(loaded(&place.open(), 1).await.is_some());
}

#[tokio::test]
async fn a_link_to_the_database_leads_to_the_same_lock() {
    let place = Place::new();
    let store = place.open();
    let link = place.folder().join("link.db");
    std::os::unix::fs::symlink(place.database(), &link).unwrap();
    let through = callonce::store::sqlite::SqliteStore::open(&link, Options::default()).err().unwrap();
    assert!(matches!(through, OpenError::Locked { .. }), "{through:?}");
    drop(store);
    std::fs::hard_link(place.database(), place.folder().join("other.db")).unwrap();
    assert!(refused(&place.refusal()).contains("2 names"));
}

/// Many processes that start at once on a path where there is nothing yet: one serves, all others say who does.
#[test]
fn of_many_first_starts_one_wins() {
    for _ in 0..4 {
        let place = Place::new();
        let children: Vec<_> = (0..8).map(|_| Child::opens(&place.database())).collect();
        let mut outcomes: Vec<_> = children.into_iter().map(Child::let_go).collect();
        outcomes.sort_unstable();
        let winners = outcomes.iter().filter(|outcome| **outcome == OPENED).count();
        assert!(winners >= 1, "{outcomes:?}");
        assert_eq!(
            outcomes.len(),
            outcomes.iter().filter(|o| [OPENED, LOCKED].contains(o)).count(),
            "{outcomes:?}"
        );
    }
}

#[test]
fn a_lock_on_a_new_file_is_waited_for_and_then_named() {
    let place = Place::new();
    let meddler = place.meddler();
    meddler.execute_batch("CREATE TABLE t (x); DROP TABLE t; BEGIN EXCLUSIVE").unwrap();
    let options = Options { busy_timeout: Duration::from_millis(60), ..Options::default() };
    match place.open_with(options).err().unwrap() {
        OpenError::Storage { problem, .. } => assert!(problem.contains("locked"), "{problem}"),
        other => panic!("{other:?}"),
    }
    meddler.execute_batch("ROLLBACK").unwrap();
    drop(place.open());
}

/// Each of them enforces something that nobody would miss until it is too late.
#[tokio::test]
async fn a_database_without_all_of_its_schema_is_refused() {
    for gone in [
        "TABLE calls",
        "TABLE counters",
        "INDEX idx_calls_ready",
        "TRIGGER calls_are_never_deleted",
        "TRIGGER audit_is_never_updated",
    ] {
        let place = Place::new();
        created(&place.open(), 1).await;
        place.meddler().execute_batch(&format!("DROP {gone}")).unwrap();
        let problem = place.refusal();
        let gone = gone.to_lowercase();
        assert!(refused(&problem).contains(&format!("its {gone} is missing")), "{problem}");
        rebuild::rebuild(&place.database(), &Options::default(), &|_, _| {}).unwrap();
        drop(place.open());
    }
}

/// A trigger that guards nothing any more looks like one that does.
#[tokio::test]
async fn a_database_with_a_changed_guard_is_refused() {
    let place = Place::new();
    created(&place.open(), 1).await;
    let changed = "DROP TRIGGER calls_are_never_deleted; \
                   CREATE TRIGGER calls_are_never_deleted BEFORE DELETE ON calls BEGIN SELECT 1; END";
    place.meddler().execute_batch(changed).unwrap();
    let problem = place.refusal();
    assert!(refused(&problem).contains("trigger calls_are_never_deleted is not as it was made"), "{problem}");
    rebuild::rebuild(&place.database(), &Options::default(), &|_, _| {}).unwrap();
    drop(place.open());
    place.meddler().execute_batch("DELETE FROM calls").unwrap_err();
}

/// As a bit that flips in the schema leaves it: SQLite reads on, and a constraint or a column is another one.
#[tokio::test]
async fn a_database_with_a_changed_table_is_refused() {
    for (table, old, new) in [
        ("calls", "args_json", "args_jsom"),
        ("effects", "UNIQUE", "unique"),
        ("sqlite_sequence", "name,seq", "name-seq"),
    ] {
        let place = Place::new();
        created(&place.open(), 1).await;
        let change = format!(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}') WHERE type = 'table' AND name = '{table}'"
        );
        place.meddler().execute_batch(&change).unwrap();
        let problem = place.refusal().to_string();
        assert!(problem.contains("calls.db"), "{problem}");
        let told = problem.contains(&format!("its table {table} is not as it was made"));
        assert!(told || problem.contains("malformed"), "{table}: {problem}");
    }
}

/// With it a call could succeed and its effect be nowhere.
#[tokio::test]
async fn a_trigger_that_is_none_of_ours_is_refused_and_dropped_by_a_rebuild() {
    let place = Place::new();
    created(&place.open(), 1).await;
    let trigger = "CREATE TRIGGER \"a \"\"b\"\" c\" BEFORE INSERT ON effects BEGIN SELECT RAISE(IGNORE); END";
    place.meddler().execute_batch(trigger).unwrap();
    let problem = place.refusal();
    assert!(refused(&problem).contains("trigger a \"b\" c is none of this program's"), "{problem}");
    rebuild::rebuild(&place.database(), &Options::default(), &|_, _| {}).unwrap();
    drop(place.open());
}

#[tokio::test]
async fn a_database_without_its_log_is_beyond_repair() {
    let place = Place::new();
    created(&place.open(), 1).await;
    place.meddler().execute_batch("DROP TABLE audit").unwrap();
    let problem = place.refusal();
    assert!(refused(&problem).contains("table audit is missing"), "{problem}");
    assert!(problem.to_string().contains("restore a backup"), "{problem}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_not_a_byte_is_changed() {
    let place = Place::new();
    created(&place.open(), 1).await;
    let meddler = place.meddler();
    meddler.execute_batch("PRAGMA journal_mode = wal; PRAGMA user_version = 2").unwrap();
    // The newer program crashed, so its last commits are in the WAL.
    let (database, wal) = (place.database(), place.beside("-wal"));
    let before = (std::fs::read(&database).unwrap(), std::fs::read(&wal).unwrap());
    assert!(!before.1.is_empty());
    let problem = place.refusal();
    assert!(refused(&problem).contains("schema 2") && problem.to_string().contains("calls.db"), "{problem}");
    assert_eq!((std::fs::read(&database).unwrap(), std::fs::read(&wal).unwrap()), before);
    let problem = SqliteReader::open(&database).err().unwrap();
    assert!(refused(&problem).contains("newer"), "{problem}");
    meddler.execute_batch("PRAGMA user_version = 1").unwrap();
    drop(meddler);
    assert!(loaded(&place.open(), 1).await.is_some());
}

#[test]
fn a_file_of_another_kind_is_refused_untouched() {
    let place = Place::new();
    place.meddler().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = std::fs::read(place.database()).unwrap();
    assert!(refused(&place.refusal()).contains("not one of callonce"));
    assert_eq!(std::fs::read(place.database()).unwrap(), before);
    std::fs::write(
        place.database(),
        "this is a letter, not a database, and long enough to be one ".repeat(20),
    )
    .unwrap();
    assert!(
        matches!(place.refusal(), OpenError::Storage { problem, .. } if problem.contains("not a database"))
    );
    assert!(matches!(
        callonce::store::sqlite::SqliteStore::open(place.folder(), Options::default()).err().unwrap(),
        OpenError::Storage { problem, .. } if problem.contains("not a file")
    ));
    let nowhere = place.folder().join("no/such/folder/calls.db");
    let error = callonce::store::sqlite::SqliteStore::open(&nowhere, Options::default()).err().unwrap();
    assert!(
        matches!(&error, OpenError::Storage { path, .. } if path.ends_with("no/such/folder")),
        "{error:?}"
    );
}

#[test]
fn a_crash_inside_the_first_migration_leaves_nothing_of_it() {
    let place = Place::new();
    let crash_point =
        Arc::new(|point: &'static str| assert_ne!(point, "store.migrate", "as if it crashed here"));
    let options = Options { crash_point: Some(crash_point), ..Options::default() };
    catch_unwind(AssertUnwindSafe(|| place.open_with(options).map(drop))).unwrap_err();
    let meddler = place.meddler();
    let version: i64 = meddler.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let tables: i64 = meddler.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).unwrap();
    assert_eq!((version, tables), (0, 0));
    drop(meddler);
    drop(place.open());
}

/// The file system says no only to those who are not root, so this is tried by somebody who is not.
#[test]
fn what_cannot_be_written_is_refused_with_its_path() {
    let place = Place::new();
    std::fs::set_permissions(place.folder(), PermissionsExt::from_mode(0o777)).unwrap();
    drop(place.open());
    let modes = |file, folder| {
        for beside in ["", "-head", "-lock"] {
            let mode = if beside.is_empty() { file } else { 0o666 };
            std::fs::set_permissions(place.beside(beside), PermissionsExt::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(place.folder(), PermissionsExt::from_mode(folder)).unwrap();
    };
    let opens = || Child::opens_unprivileged(&place.database()).let_go_and_say();
    modes(0o444, 0o777);
    let (outcome, said) = opens();
    assert_eq!(outcome, STORAGE, "a file that may only be read: {said}");
    assert!(said.contains("calls.db") && said.contains("may not write"), "{said}");
    modes(0o666, 0o555);
    let (outcome, said) = opens();
    assert_eq!(outcome, STORAGE, "a folder that may only be read: {said}");
    assert!(said.contains(place.folder().to_str().unwrap()), "{said}");
    modes(0o666, 0o777);
    let (outcome, said) = opens();
    assert_eq!(outcome, OPENED, "{said}");
}

/// A reader that does not end keeps the WAL of a crash from being made durable; nothing is served before it is.
#[tokio::test]
async fn a_reader_that_pins_the_wal_is_named() {
    let place = Place::new();
    let options = Options { busy_timeout: Duration::from_millis(50), ..Options::default() };
    let store = place.open_with(options.clone()).unwrap();
    created(&store, 1).await;
    let reader = place.meddler();
    reader.execute_batch("BEGIN; SELECT count(*) FROM calls").unwrap();
    created(&store, 2).await;
    store.close().await;
    drop(store);
    let error = place.open_with(options).err().unwrap();
    assert!(
        matches!(&error, OpenError::Storage { problem, .. } if problem.contains("another program")),
        "{error:?}"
    );
    reader.execute_batch("ROLLBACK").unwrap();
    assert_eq!(log(&place.open()).await.len(), 2);
}

#[tokio::test]
async fn a_reader_beside_the_server_sees_what_is_committed() {
    let place = Place::new();
    assert!(matches!(SqliteReader::open(&place.database()).err().unwrap(), OpenError::Storage { .. }));
    let store = place.open();
    let call = created(&store, 1).await;
    let id = call.call.request().unwrap().call_id;
    let reader = SqliteReader::open(&place.database()).unwrap();
    assert_eq!(reader.load(id).await, Ok(Some(call.clone())));
    created(&store, 2).await;
    assert_eq!(reader.stats(at(0)).await.unwrap().calls, 2);
    store.close().await;
    assert_eq!(reader.load(id).await, Ok(Some(call)), "it goes on without the server");
    assert!(Path::new(&place.database()).exists());
}

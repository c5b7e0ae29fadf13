//! The tables that come out of a rebuild are the ones that were kept all along, or the old ones stay.

use callonce::domain::id::Position;
use callonce::store::Store as _;
use callonce::store::StoreError;
use callonce::store::codec;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::rebuild::RebuildError;
use callonce::store::sqlite::{OpenError, Options, SqliteStore};
use callonce::testing::many_calls;
use callonce::testing::random_calls::{request, request_with, submit};

use crate::place::{
    CALLS, PENDING, Place, SECOND_TRY, SUCCEEDED, claimed_earlier, does, dump, id, random_life, settled,
};

/// Equal times, times that go backwards, and a clock a year ahead: no value comes from a clock.
#[tokio::test]
async fn the_tables_come_out_byte_for_byte() {
    let place = Place::with_every_state().await;
    let store = place.open();
    claimed_earlier(&store, 50).await;
    store.close().await;
    let before = place.tables();
    let rebuilt = place.rebuild().unwrap();
    assert_eq!((rebuilt.calls, rebuilt.effects), (CALLS + 1, 3));
    assert_eq!(place.tables(), before);
    assert_eq!(place.findings(), []);
}

#[tokio::test]
async fn random_lives_come_out_byte_for_byte() {
    for seed in 11..=13 {
        let place = Place::new();
        let store = place.open();
        random_life(&store, seed, 400).await;
        settled(&store, 10_000).await;
        many_calls::fill(&store, 20_000..20_400).await.unwrap();
        store.close().await;
        let before = place.tables();
        place.rebuild().unwrap();
        assert_eq!(place.tables(), before, "seed {seed}");
    }
}

#[tokio::test]
async fn whatever_was_in_the_tables_is_replaced() {
    let place = Place::with_every_state().await;
    let before = place.tables();
    place.execute(&format!(
        "DELETE FROM calls WHERE rowid % 3 = 0; UPDATE calls SET status = 'failed', checksum = 0; \
         DELETE FROM effects; INSERT INTO effects VALUES ('eff_{0}', 'c_{0}', 'ghost', 1, 1.0); \
         UPDATE counters SET value = 99",
        "f".repeat(32)
    ));
    let told = place.compare();
    assert!(
        told.iter().any(|told| told.member == "calls.status" && told.call == Some(id(SUCCEEDED))),
        "{told:#?}"
    );
    assert!(told.iter().any(|told| told.member == "counters.calls"), "{told:#?}");
    assert_ne!(place.tables(), before, "a comparison changes nothing");
    place.rebuild().unwrap();
    assert_eq!(place.tables(), before);
    assert_eq!(place.compare(), []);
    assert_eq!(place.findings(), []);
    // Life goes on after it.
    let store = place.open();
    does(&store, &Snapshot::absent(), submit(&request(99))).await;
    store.close().await;
    assert_eq!(place.findings(), []);
}

/// One row that is missing, too many, or out of place is told as that; the rows after it are where they belong.
#[tokio::test]
async fn a_comparison_tells_the_row_that_is_wrong_and_no_other() {
    let told = |place: &Place| -> Vec<(String, Option<String>)> {
        place.compare().into_iter().map(|told| (told.member.into(), told.call)).collect()
    };
    let stranger = format!("c_{}", "0".repeat(32));
    let meddled = [
        (format!("DELETE FROM calls WHERE call_id = '{}'", id(3)), vec![("calls", id(3))]),
        (
            format!("UPDATE calls SET call_id = '{stranger}' WHERE call_id = '{}'", id(PENDING)),
            vec![("calls", stranger), ("calls", id(PENDING))],
        ),
        (
            "UPDATE calls SET rowid = 99 WHERE rowid = 4; UPDATE calls SET rowid = 4 WHERE rowid = 5; \
             UPDATE calls SET rowid = 5 WHERE rowid = 99"
                .into(),
            vec![("calls.rowid", id(5))],
        ),
        (
            "UPDATE calls SET rowid = 99, attempt = 9 WHERE rowid = 2".into(),
            vec![("calls.rowid", id(2)), ("calls.attempt", id(2))],
        ),
        (
            "UPDATE calls SET rowid = -1 WHERE rowid = 9; DELETE FROM calls WHERE rowid = 5".into(),
            vec![("calls", id(5)), ("calls.rowid", id(9))],
        ),
    ];
    for (sql, expected) in meddled {
        let place = Place::with_every_state().await;
        place.execute(&sql);
        let expected: Vec<_> =
            expected.into_iter().map(|(member, call)| (member.to_string(), Some(call))).collect();
        assert_eq!(told(&place), expected, "{sql}");
    }
}

/// A key whose row was taken away is free again, and then leads to two calls: the second one is named.
#[tokio::test]
async fn a_key_that_led_to_two_calls_is_named() {
    let place = Place::new();
    let store = place.open();
    let first = does(&store, &Snapshot::absent(), submit(&request(1))).await;
    store.close().await;
    place.execute("DELETE FROM calls");
    let key = first.call.request().unwrap().key.clone();
    let store = place.open();
    does(&store, &Snapshot::absent(), submit(&request_with(2, key.as_str(), "sleep", "{}", None))).await;
    store.close().await;
    let before = place.tables();
    let refusal = place.rebuild().unwrap_err().to_string();
    assert!(refusal.contains(&id(2)) && refusal.contains(&format!("`{key}`")), "{refusal}");
    assert_eq!(place.tables(), before);
}

/// What the log says cannot be believed: it is named, and nothing changes.
#[tokio::test]
async fn a_log_that_cannot_be_folded_changes_nothing() {
    let name = id(SECOND_TRY);
    let third = format!("WHERE call_id = '{name}' AND version = 3");
    let cases = [
        // A kind of event that is none, and one of a schema that a newer program writes.
        (
            format!("UPDATE audit SET event = 'archived_v9', payload = x'01090100000000' {third}"),
            "unknown kind 9",
        ),
        (
            format!("UPDATE audit SET payload = CAST(x'010602' || substr(payload, 4) AS BLOB) {third}"),
            "`recover` event has the unknown schema version 2",
        ),
        (format!("UPDATE audit SET hash = zeroblob(32) {third}"), "is not chained"),
        (format!("UPDATE audit SET detail = 'somebody' {third}"), "disagree"),
        (format!("DELETE FROM audit {third}"), "cannot follow"),
        (format!("DELETE FROM audit WHERE call_id = '{name}' AND version = 1"), "first event is missing"),
    ];
    for (sql, problem) in cases {
        let place = Place::with_every_state().await;
        let first = format!("SELECT min(id) FROM audit WHERE call_id = '{name}' AND version >= 2");
        let position: i64 = place.meddle(|db| {
            let position = format!("SELECT id FROM audit {third}");
            let found = db.query_row(&position, [], |row| row.get(0))?;
            db.execute_batch(&sql)?;
            let named = match problem {
                "cannot follow" => format!("SELECT id FROM audit WHERE call_id = '{name}' AND version = 4"),
                "first event is missing" => first,
                _ => return Ok(found),
            };
            db.query_row(&named, [], |row| row.get(0))
        });
        let before = place.tables();
        match place.rebuild() {
            Err(RebuildError::Store(StoreError::Corrupt(told))) => {
                assert!(told.contains(problem), "{sql}: {told}");
                assert!(told.contains(&format!("position {position}")), "{sql}: {told}, not {position}");
            }
            other => panic!("{sql}: {other:?}"),
        }
        assert_eq!(place.tables(), before, "{sql}");
    }
}

/// A row whose events are gone is the last trace of an acknowledged call; what the rest of the log makes is not all.
#[tokio::test]
async fn a_log_that_lost_its_end_changes_nothing() {
    let place = Place::with_every_state().await;
    place.execute("DELETE FROM audit WHERE id = (SELECT max(id) FROM audit)");
    let before = place.tables();
    match place.rebuild() {
        Err(RebuildError::Open(loss @ OpenError::DataLoss { .. })) => {
            assert!(loss.to_string().contains("1 events are missing"), "{loss}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(place.tables(), before);
    // Of a copy without a head nobody knows how long it was.
    std::fs::remove_file(place.beside("-head")).unwrap();
    place.rebuild().unwrap();
    assert_ne!(place.tables(), before);
}

/// Without its triggers and indexes, a table that is right today need not be so tomorrow.
#[tokio::test]
async fn what_was_dropped_of_the_schema_is_made_again() {
    let place = Place::with_every_state().await;
    let schema = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name";
    let before = dump(&place.database(), &[schema]);
    let db = rusqlite::Connection::open(place.database()).unwrap();
    db.execute_batch(
        "DROP TRIGGER calls_are_never_deleted; DROP TRIGGER effects_are_never_updated; \
         DROP TRIGGER audit_is_never_updated; DROP INDEX idx_calls_ready",
    )
    .unwrap();
    drop(db);
    assert_eq!(place.findings().len(), 4);
    place.rebuild().unwrap();
    assert_eq!(dump(&place.database(), &[schema]), before);
    assert_eq!(place.findings(), []);
}

#[tokio::test]
async fn a_comparison_tells_what_was_dropped_of_the_schema() {
    for dropped in
        ["TRIGGER calls_are_never_deleted", "INDEX idx_calls_ready", "TABLE effects", "TABLE calls"]
    {
        let place = Place::with_every_state().await;
        let db = rusqlite::Connection::open(place.database()).unwrap();
        db.execute_batch(&format!("DROP {dropped}")).unwrap();
        let name = format!("schema.{}", dropped.to_lowercase());
        let told = place.compare();
        assert!(told.iter().any(|told| told.member == name && told.problem == "is missing"), "{told:#?}");
        place.rebuild().unwrap();
        assert_eq!(place.compare(), [], "{dropped}");
    }
}

/// Everything is made from the log, so without it nothing is touched.
#[tokio::test]
async fn without_a_log_nothing_is_made() {
    let place = Place::with_every_state().await;
    let before = place.tables();
    rusqlite::Connection::open(place.database()).unwrap().execute_batch("DROP TABLE audit").unwrap();
    assert!(place.compare().iter().any(|told| told.member == "schema.table audit"));
    let refused = place.rebuild().unwrap_err().to_string();
    assert!(refused.contains("table audit is missing") && refused.contains("restore a backup"), "{refused}");
    assert_eq!(place.tables(), before);
}

/// An event is only ever read in a schema that this program knows; there is one so far.
#[test]
fn only_known_schemas_are_read() {
    let known = codec::encode(&callonce::domain::event::Event::Created { request: request(1) });
    assert!(codec::decode(&known).is_ok());
    for version in (0..=u8::MAX).filter(|version| *version != known[2]) {
        let mut other = known.clone();
        other[2] = version;
        let refusal = codec::decode(&other).unwrap_err();
        assert!(matches!(refusal, codec::CodecError::UnknownVersion { .. }), "{version}: {refusal}");
    }
}

#[tokio::test]
async fn nobody_is_at_work_meanwhile() {
    let place = Place::with_every_state().await;
    let store = place.open();
    match place.rebuild() {
        Err(RebuildError::Open(OpenError::Locked { .. })) => {}
        other => panic!("{other:?}"),
    }
    store.close().await;
    place.rebuild().unwrap();
}

/// Whoever looks while the tables are being replaced sees the old ones, whole.
#[tokio::test]
async fn a_reader_sees_the_old_tables_until_the_new_ones_are_there() {
    let place = Place::with_every_state().await;
    let before = place.tables();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (shared, database) = (seen.clone(), place.database());
    let look = move |point: &'static str| {
        assert_eq!(point, "rebuild.half_way");
        assert!(SqliteStore::open(&database, Options::default()).is_err(), "the lock is taken");
        shared.lock().unwrap().push(crate::place::tables_of(&database));
    };
    let options = Options { crash_point: Some(std::sync::Arc::new(look)), ..Options::default() };
    callonce::store::sqlite::rebuild::rebuild(&place.database(), &options, &|_, _| {}).unwrap();
    assert_eq!(*seen.lock().unwrap(), std::slice::from_ref(&before));
    assert_eq!(place.tables(), before);
}

#[tokio::test]
async fn progress_is_told_up_to_the_end() {
    let place = Place::new();
    let store = place.open();
    many_calls::fill(&store, 1..2_000).await.unwrap();
    store.close().await;
    let told = std::sync::Mutex::new(Vec::new());
    let tell = |seen, of| told.lock().unwrap().push((seen, of));
    let rebuilt =
        callonce::store::sqlite::rebuild::rebuild(&place.database(), &Options::default(), &tell).unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.len() > 5 && told.is_sorted(), "{told:?}");
    assert_eq!(told.last(), Some(&(rebuilt.events, rebuilt.position.0)));
    assert_eq!(rebuilt.position, Position(rebuilt.events));
}

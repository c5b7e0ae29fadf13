//! Does the WAL stay small, and does nobody wait for it?

use std::sync::Arc;

use callonce::domain::call::Request;
use callonce::domain::event::Event;
use callonce::store::Store;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::SqliteStore;
use callonce::testing::random_calls::{at, request, request_with};

use tokio::task::JoinSet;

use crate::support::{Place, created};

/// The size at which the WAL is to begin anew; on a busy machine it gets somewhat larger before it can.
const BOUND: u64 = 64 << 20;

/// Appends calls, eight at once, until the database has grown by `bytes`; gives the size of the largest WAL on the way.
async fn grow(store: &Arc<SqliteStore>, numbers: &mut std::ops::RangeFrom<u64>, bytes: u64) -> u64 {
    let args = format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000));
    let large = request_with(0, "large", "charge", &args, None);
    let (mut written, mut largest) = (0, 0);
    while written < bytes {
        let mut batch = JoinSet::new();
        for n in numbers.by_ref().take(8) {
            let Request { call_id, key, .. } = (*request(n)).clone();
            let request = Arc::new(Request { call_id, key, ..(*large).clone() });
            let store = store.clone();
            batch.spawn(
                async move { store.append(&Snapshot::absent(), vec![Event::Created { request }]).await },
            );
            // The args are in the row and in the event.
            written += 200_000;
        }
        batch.join_all().await.into_iter().for_each(|answer| drop(answer.unwrap()));
        largest = largest.max(wal(store).await);
    }
    largest
}

async fn wal(store: &SqliteStore) -> u64 {
    store.stats(at(0)).await.unwrap().wal_bytes
}

#[tokio::test]
async fn under_writes_the_wal_begins_anew_and_after_them_it_is_cut_off() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let mut numbers = 1..;
    let largest = grow(&store, &mut numbers, 4 * BOUND).await;
    assert!(largest < 2 * BOUND, "the WAL grew to {largest} bytes");
    while wal(&store).await > 0 {
        tokio::task::yield_now().await;
    }
    // A reader of another program pins what it sees: the WAL has to grow, and shrinks when the reader is done.
    let reader = place.meddler();
    reader.execute_batch("BEGIN; SELECT count(*) FROM calls").unwrap();
    let pinned = grow(&store, &mut numbers, BOUND + BOUND / 16).await;
    assert!(pinned > BOUND, "the WAL is pinned, at {pinned} bytes");
    reader.execute_batch("COMMIT").unwrap();
    while wal(&store).await > 0 {
        tokio::task::yield_now().await;
    }
    drop(reader);
    let position = store.stats(at(0)).await.unwrap().position;
    store.close().await;
    assert!(!place.beside("-wal").exists() && !place.beside("-shm").exists());
    drop(store);
    assert_eq!(place.open().stats(at(0)).await.unwrap().position, position);
}

/// What a crash left in the WAL is in the file itself before the first answer.
#[tokio::test]
async fn a_start_makes_a_crashed_wal_durable_first() {
    let place = Place::new();
    crate::child::Child::dies_at(&place.database(), "store.before_commit", 9).let_go();
    let left = std::fs::metadata(place.beside("-wal")).unwrap().len();
    assert!(left > 0);
    let store = place.open();
    assert!(
        wal(&store).await < left,
        "it begins anew, with the page that proves that the file can be written"
    );
    let copy = place.folder().join("copy.db");
    std::fs::copy(place.database(), &copy).unwrap();
    let alone = rusqlite::Connection::open(&copy).unwrap();
    let events: i64 = alone.query_row("SELECT count(*) FROM audit", [], |row| row.get(0)).unwrap();
    assert_eq!(events, 8, "they are there without the WAL");
    created(&store, 3).await;
}

//! Is the store honest when the disk is full, another program has the lock, or nobody knows what is durable?

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use callonce::domain::event::Event;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::Options;
use callonce::store::{Store, StoreError};
use callonce::testing::random_calls::{at, claim, request_with};

use crate::support::{Place, created, does, loaded, log, store_error, tries};

/// A creation that needs a few pages.
fn large(n: u64) -> Vec<Event> {
    let args = format!(r#"{{"text":"{}"}}"#, "x".repeat(20_000));
    vec![Event::Created { request: request_with(n, &format!("key-{n}"), "charge", &args, None) }]
}

#[tokio::test]
async fn a_full_disk_stops_writes_and_nothing_else() {
    let place = Place::new();
    let store = place.open();
    let first = created(&store, 1).await;
    store
        .inspect_writer(|db| {
            let pages: i64 = db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
            db.pragma_update_and_check(None, "max_page_count", pages + 10, |_| Ok(())).unwrap();
        })
        .await;
    let mut n = 1;
    let refused = loop {
        n += 1;
        if let Err(refused) = store.append(&Snapshot::absent(), large(n)).await {
            break store_error(Err(refused));
        }
    };
    assert!(matches!(refused, StoreError::Full(_)), "{refused:?}");
    // The next one is refused too, reads go on, and of what was refused there is nothing.
    assert!(matches!(
        store_error(store.append(&Snapshot::absent(), large(n + 1)).await),
        StoreError::Full(_)
    ));
    assert_eq!(loaded(&store, 1).await, Some(first.clone()));
    assert_eq!(loaded(&store, n).await, None);
    assert_eq!(log(&store).await.len() as u64, n - 1);
    assert_eq!(store.stats(at(0)).await.unwrap().calls, n - 1);
    // Space returns, and nobody has to restart anything.
    store
        .inspect_writer(|db| db.pragma_update_and_check(None, "max_page_count", 1 << 20, |_| Ok(())).unwrap())
        .await;
    store.append(&Snapshot::absent(), large(n)).await.unwrap();
    does(&store, &first, claim(5, "w")).await;
    store.close().await;
    let intact: String = place.meddler().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(intact, "ok");
}

#[tokio::test]
async fn a_lock_that_another_program_holds_is_waited_for_and_then_said() {
    let place = Place::new();
    let options = Options { busy_timeout: Duration::from_millis(50), ..Options::default() };
    let store = place.open_with(options).unwrap();
    let first = created(&store, 1).await;
    let meddler = place.meddler();
    meddler.execute_batch("BEGIN IMMEDIATE").unwrap();
    // One finds the lock taken; the other has queued behind it and does not wait a turn of its own.
    let (one, two) = tokio::join!(tries(&store, &first, claim(2, "a")), tries(&store, &first, claim(2, "b")));
    for answer in [one, two] {
        assert!(matches!(store_error(answer), StoreError::Unavailable(_)));
    }
    assert_eq!(loaded(&store, 1).await, Some(first.clone()), "reads need no lock");
    assert_eq!(store.stats(at(0)).await.unwrap().calls, 1);
    meddler.execute_batch("ROLLBACK").unwrap();
    does(&store, &first, claim(3, "c")).await;
    assert_eq!(log(&store).await.len(), 2);
}

/// Options of a store that tells when it would have ended the process.
fn told() -> (Options, mpsc::Receiver<String>) {
    let (tell, told) = mpsc::channel();
    (Options { on_fatal: Arc::new(move |what| tell.send(what.into()).unwrap()), ..Options::default() }, told)
}

#[tokio::test]
async fn an_error_that_leaves_all_open_ends_the_process_and_answers_nobody() {
    let place = Place::new();
    let (options, told) = told();
    let store = Arc::new(place.open_with(options).unwrap());
    let first = created(&*store, 1).await;
    // No error of writing can be had from a sound disk; a table that is gone is as unexpected to the writer.
    place.meddler().execute_batch("ALTER TABLE counters RENAME TO gone").unwrap();
    let append = tokio::spawn({
        let (store, first) = (store.clone(), first.clone());
        async move { tries(&*store, &first, claim(2, "w")).await }
    });
    let what = tokio::task::spawn_blocking(move || told.recv().unwrap()).await.unwrap();
    assert!(what.contains("calls.db") && what.contains("counters") && what.contains("SQLite code"), "{what}");
    store.close().await;
    assert!(!append.is_finished(), "neither done nor failed: nobody knows");
    append.abort();
    drop(store);
    // Exactly as it was: a name that is written in quotes is a table that was changed.
    let back = "ALTER TABLE gone RENAME TO counters; PRAGMA writable_schema = ON;
                UPDATE sqlite_master SET sql = replace(sql, '\"counters\"', 'counters') WHERE name = 'counters'";
    place.meddler().execute_batch(back).unwrap();
    assert_eq!(loaded(&place.open(), 1).await, Some(first), "the restart finds what is there");
}

#[tokio::test]
async fn a_writer_that_panics_ends_the_process_and_answers_nobody() {
    let place = Place::new();
    let (options, told) = told();
    let crash_point =
        Arc::new(|point: &'static str| assert_ne!(point, "store.before_answer", "as if by a bug"));
    let store = Arc::new(place.open_with(Options { crash_point: Some(crash_point), ..options }).unwrap());
    let append = tokio::spawn({
        let store = store.clone();
        async move { created(&*store, 1).await }
    });
    let what = tokio::task::spawn_blocking(move || told.recv().unwrap()).await.unwrap();
    assert!(what.contains("the writer") && what.contains("panicked"), "{what}");
    store.close().await;
    assert!(!append.is_finished());
    append.abort();
    drop(store);
    assert!(loaded(&place.open(), 1).await.is_some(), "it was committed, and only the answer was lost");
}

//! A database that nobody meddled with passes, whatever its calls went through.

use std::sync::Arc;

use callonce::domain::id::Position;
use callonce::store::Store as _;
use callonce::store::sqlite::verify;
use callonce::testing::many_calls;

use crate::place::{CALLS, Place, every_state, random_life, settled};

#[tokio::test]
async fn every_state_passes() {
    let place = Place::with_every_state().await;
    let report = place.verify();
    assert_eq!(report.findings.first(), []);
    assert_eq!(report.unchecked, [""; 0]);
    assert_eq!((report.calls, report.effects, report.events), (CALLS, 2, report.position.0));
    assert_eq!(place.compare(), []);
}

#[tokio::test]
async fn an_empty_database_passes() {
    let place = Place::new();
    place.open().close().await;
    let report = place.verify();
    assert_eq!((report.findings.count(), report.position), (0, Position::START));
    assert_eq!(place.compare(), []);
    assert_eq!(place.rebuild().unwrap().events, 0);
}

#[tokio::test]
async fn random_lives_pass() {
    for seed in 1..=3 {
        let place = Place::new();
        let store = place.open();
        random_life(&store, seed, 400).await;
        settled(&store, 10_000).await;
        store.close().await;
        assert_eq!(place.findings(), [], "seed {seed}");
        assert_eq!(place.compare(), [], "seed {seed}");
    }
}

/// Calls move on while they are looked at; each is judged as of one moment, and the counters too.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_being_written_passes_each_time() {
    let place = Place::new();
    let store = Arc::new(place.open());
    every_state(&*store).await;
    let writing = store.clone();
    let writer = tokio::spawn(async move { many_calls::fill(&*writing, 1_000..3_000).await });
    let mut looks = 0;
    let mut positions = Vec::new();
    while !writer.is_finished() || looks == 0 {
        let database = place.database();
        let report =
            tokio::task::spawn_blocking(move || verify::verify(&database, None, &|_, _| {}).unwrap());
        let report = report.await.unwrap();
        assert_eq!(report.findings.first(), [], "look {looks}");
        assert_eq!(report.unchecked, [""; 0]);
        positions.push(report.position);
        looks += 1;
    }
    writer.await.unwrap().unwrap();
    store.close().await;
    assert!(positions.is_sorted());
    assert!(place.verify().position > positions[0], "something was written meanwhile");
    assert_eq!(place.findings(), []);
}

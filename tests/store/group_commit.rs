//! Is nobody answered before it is durable, and does one fsync serve all that wait?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callonce::domain::event::Event;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::SqliteStore;
use callonce::store::{AppendError, Store, StoreError};
use callonce::testing::random_calls::{at, claim, decided, request, request_with, succeed};
use tokio::task::JoinHandle;

use crate::support::{Gate, Place, created, does, loaded, log, store_error};

type Answer = JoinHandle<Result<Snapshot, AppendError>>;

/// Appends to each of the calls at once; all are in the writer's queue when this returns.
async fn queued(store: &Arc<SqliteStore>, appends: Vec<(Snapshot, Vec<Event>)>) -> Vec<Answer> {
    let (polled, count) = (Arc::new(AtomicUsize::new(0)), appends.len());
    let answers = appends
        .into_iter()
        .map(|(before, events)| {
            let (store, polled) = (store.clone(), polled.clone());
            tokio::spawn(async move {
                // On the test's one thread, whoever sees this sees that the append has been queued right after it.
                polled.fetch_add(1, Ordering::Relaxed);
                store.append(&before, events).await
            })
        })
        .collect();
    while polled.load(Ordering::Relaxed) < count {
        tokio::task::yield_now().await;
    }
    answers
}

fn creations(numbers: std::ops::RangeInclusive<u64>) -> Vec<(Snapshot, Vec<Event>)> {
    numbers.map(|n| (Snapshot::absent(), vec![Event::Created { request: request(n) }])).collect()
}

#[tokio::test]
async fn nobody_is_answered_before_the_commit_returned() {
    let (place, gate) = (Place::new(), Gate::default());
    let store = Arc::new(place.open_with(gate.options()).unwrap());
    let _shut = gate.shut("store.before_commit");
    let answers = queued(&store, creations(1..=1)).await;
    gate.arrival().await;
    assert_eq!(loaded(&*store, 1).await, None, "nobody may read it yet");
    // After the look, by which an answer that came too early has arrived.
    assert!(!answers[0].is_finished(), "it is not in the log yet");
    gate.open();
    for answer in answers {
        let call = answer.await.unwrap().unwrap();
        assert_eq!(loaded(&*store, 1).await, Some(call));
    }
}

#[tokio::test]
async fn what_waits_shares_one_commit() {
    let (place, gate) = (Place::new(), Gate::default());
    let store = Arc::new(place.open_with(gate.options()).unwrap());
    let _shut = gate.shut("store.before_commit");
    let mut answers = queued(&store, creations(1..=1)).await;
    gate.arrival().await;
    answers.extend(queued(&store, creations(2..=600)).await);
    gate.open();
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    assert_eq!(gate.passed("store.after_commit"), 3, "one, then a full batch of 512, then the other 87");
    assert_eq!(log(&*store).await.len(), 600);
}

#[tokio::test]
async fn a_conflict_in_a_batch_fails_alone() {
    let (place, gate) = (Place::new(), Gate::default());
    let store = Arc::new(place.open_with(gate.options()).unwrap());
    let call = created(&*store, 1).await;
    let _shut = gate.shut("store.before_commit");
    let mut answers = queued(&store, creations(2..=2)).await;
    gate.arrival().await;
    let same_key = request_with(50, "key-3", "charge", "{}", None);
    answers.extend(
        queued(
            &store,
            vec![
                (Snapshot::absent(), vec![Event::Created { request: request(3) }]),
                (Snapshot::absent(), vec![Event::Created { request: same_key }]),
                (call.clone(), decided(&call.call, claim(5, "first"))),
                (call.clone(), decided(&call.call, claim(5, "second"))),
            ],
        )
        .await,
    );
    gate.open();
    let mut results = Vec::new();
    for answer in answers {
        results.push(answer.await.unwrap());
    }
    assert_eq!(gate.passed("store.after_commit"), 3, "the last four shared a commit");
    let conflict = |result: &Result<Snapshot, AppendError>| match result {
        Err(AppendError::Conflict(current)) => (**current).clone(),
        other => panic!("{other:?}"),
    };
    // Each loser is told of what won in the very transaction that it lost in.
    assert_eq!(conflict(&results[2]), *results[1].as_ref().unwrap());
    assert_eq!(conflict(&results[4]), *results[3].as_ref().unwrap());
    assert_eq!(loaded(&*store, 1).await, results[3].as_ref().ok().cloned());
}

#[tokio::test]
async fn an_append_that_nobody_waits_for_goes_on() {
    let (place, gate) = (Place::new(), Gate::default());
    let store = Arc::new(place.open_with(gate.options()).unwrap());
    let _shut = gate.shut("store.before_commit");
    let mut answers = queued(&store, creations(1..=1)).await;
    gate.arrival().await;
    answers.extend(queued(&store, creations(2..=2)).await);
    for answer in answers {
        answer.abort();
        assert!(answer.await.unwrap_err().is_cancelled());
    }
    gate.open();
    created(&*store, 3).await;
    assert!(loaded(&*store, 1).await.is_some());
    assert!(loaded(&*store, 2).await.is_some());
}

#[tokio::test]
async fn closing_finishes_what_is_queued() {
    let (place, gate) = (Place::new(), Gate::default());
    let store = Arc::new(place.open_with(gate.options()).unwrap());
    let _shut = gate.shut("store.before_commit");
    let mut answers = queued(&store, creations(1..=1)).await;
    gate.arrival().await;
    answers.extend(queued(&store, creations(2..=40)).await);
    let closing = tokio::spawn({
        let store = store.clone();
        async move { store.close().await }
    });
    gate.open();
    closing.await.unwrap();
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    assert!(matches!(
        store_error(store.append(&Snapshot::absent(), creations(41..=41).remove(0).1).await),
        StoreError::Unavailable(_)
    ));
    assert!(!place.beside("-wal").exists(), "all of it is in the one file");
    drop(store);
    assert_eq!(log(&place.open()).await.len(), 40);
}

/// A violation that no append may cause and none may survive: somebody put an effect into the table by hand.
#[tokio::test]
async fn a_broken_constraint_fails_only_the_append_that_broke_it() {
    let (place, gate) = (Place::new(), Gate::default());
    let store = Arc::new(place.open_with(gate.options()).unwrap());
    let mut running = Vec::new();
    for n in 1..=5 {
        running.push(does(&*store, &created(&*store, n).await, claim(10, "w")).await);
    }
    let culprit = request(3);
    place
        .meddler()
        .execute(
            "INSERT INTO effects VALUES (?1, ?2, 'charge', 1, 0)",
            [culprit.effect_id().to_string(), culprit.call_id.to_string()],
        )
        .unwrap();
    let _shut = gate.shut("store.before_commit");
    let mut answers = queued(&store, creations(6..=6)).await;
    gate.arrival().await;
    let successes = running.iter().map(|call| (call.clone(), decided(&call.call, succeed(11, 1)))).collect();
    answers.extend(queued(&store, successes).await);
    gate.open();
    let mut failed = 0;
    for (n, answer) in [6, 1, 2, 3, 4, 5].into_iter().zip(answers) {
        match answer.await.unwrap() {
            Ok(call) => assert_eq!(loaded(&*store, n).await, Some(call)),
            Err(AppendError::Store(StoreError::Corrupt(problem))) => {
                assert_eq!(n, 3);
                assert!(problem.contains("UNIQUE") && problem.contains("effects"), "{problem}");
                failed += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(failed, 1);
    assert_eq!(loaded(&*store, 3).await.as_ref(), Some(&running[2]), "it is not succeeded");
    let stats = store.stats(at(20)).await.unwrap();
    assert_eq!((stats.calls, stats.effects), (6, 4));
}

/// `INSERT OR IGNORE` would call each of these a success.
#[tokio::test]
async fn no_violation_is_swallowed() {
    for violation in [
        "RAISE(ABORT, 'CHECK constraint failed: amount')",
        "RAISE(FAIL, 'NOT NULL constraint failed: effects.tool')",
        "RAISE(ROLLBACK, 'somebody rolled back')",
    ] {
        let place = Place::new();
        let store = place.open();
        let running = does(&store, &created(&store, 1).await, claim(10, "w")).await;
        let trigger = format!("CREATE TRIGGER no BEFORE INSERT ON effects BEGIN SELECT {violation}; END");
        place.meddler().execute_batch(&trigger).unwrap();
        let answer = store.append(&running, decided(&running.call, succeed(11, 1))).await;
        assert!(matches!(store_error(answer), StoreError::Corrupt(_)), "{violation}");
        assert_eq!(loaded(&store, 1).await, Some(running), "{violation}");
        created(&store, 2).await;
        assert_eq!(log(&store).await.len(), 3, "{violation}");
    }
}

//! A process that is killed at any point of the write: is the log whole, and is all there that was acknowledged?

use std::collections::BTreeMap;

use callonce::domain::id::CallId;
use callonce::store::Store;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::SqliteStore;
use callonce::testing::random_calls::at;

use crate::child::{Child, KILLED, OPENED};
use crate::support::{Place, log};

/// Where to die, and how many of the 22 appends the child lives through come by there.
const POINTS: [(&str, usize); 11] = [
    ("store.migrate", 1),
    ("store.after_begin", 22),
    ("store.between_calls_and_audit.created", 2),
    ("store.between_calls_and_audit.claimed", 8),
    ("store.between_calls_and_audit.failed", 2),
    ("store.between_calls_and_audit.retry_reset", 4),
    ("store.between_calls_and_audit.recover", 4),
    ("store.between_calls_and_audit.succeeded", 2),
    ("store.before_commit", 22),
    ("store.after_commit", 22),
    ("store.before_answer", 22),
];

#[tokio::test]
async fn killed_at_any_point_the_log_is_whole_and_nothing_acknowledged_is_lost() {
    for (point, times) in POINTS {
        for nth in [1, times.div_ceil(2), times] {
            let place = Place::new();
            let (code, acknowledged) = Child::dies_at(&place.database(), point, nth).let_go_and_acknowledge();
            assert_eq!(code, KILLED, "{point} is reached {nth} times");
            let store = place.open();
            let calls = whole(&store).await;
            for (id, version) in &acknowledged {
                let there = calls.get(&id.parse().unwrap()).map_or(0, |call| call.version.0);
                assert!(there >= *version, "{point}, {nth}: {id} was at {version} and is at {there}");
            }
            // What was under way is there whole or not at all, and it is one append at most.
            let appended: u64 = calls.values().map(|call| call.version.0).sum();
            let extra = appended - acknowledged.len() as u64;
            let committed = ["store.after_commit", "store.before_answer"].contains(&point);
            assert_eq!(extra, u64::from(committed), "{point}, {nth}");
        }
    }
}

#[tokio::test]
async fn every_point_is_one_that_the_child_comes_by() {
    for (point, times) in POINTS {
        let place = Place::new();
        let code = Child::dies_at(&place.database(), point, times + 1).let_go();
        assert_eq!(code, OPENED, "{point} is passed {times} times and no more");
    }
}

/// The calls, once it is sure that tables and counters are what the log says.
async fn whole(store: &SqliteStore) -> BTreeMap<CallId, Snapshot> {
    let mut calls = BTreeMap::<CallId, Snapshot>::new();
    for (index, event) in log(store).await.into_iter().enumerate() {
        assert_eq!(event.position.0, index as u64 + 1, "positions have no gap");
        let before = calls.get(&event.entry.call_id).cloned().unwrap_or(Snapshot::absent());
        let (after, entry) = before.apply(event.entry.event.clone()).unwrap();
        assert_eq!(entry, event.entry, "version, payload and hash follow from the event before");
        calls.insert(entry.call_id, after);
    }
    for (id, call) in &calls {
        assert_eq!(store.load(*id).await.unwrap().as_ref(), Some(call));
    }
    let stats = store.stats(at(0)).await.unwrap();
    assert_eq!(stats.calls, calls.len() as u64);
    assert_eq!(stats.attempts.values().sum::<u64>(), stats.calls);
    assert_eq!(stats.by_status.values().sum::<u64>(), stats.calls);
    calls
}

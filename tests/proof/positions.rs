//! The log as a whole: positions without a gap, calls in its order.

use callonce::domain::id::Position;
use callonce::domain::law::{Law, Violation};
use callonce::store::Store as _;
use callonce::store::record::Snapshot;
use callonce::testing::random_calls::{claim, request, submit, succeed};

use crate::place::{CALLS, Place, SUCCEEDED, call_id, does, id};

fn tells(findings: &[Violation], member: &str, problem: &str) -> bool {
    findings
        .iter()
        .any(|told| told.law == Law::LogIsTruth && told.member == member && told.problem.contains(problem))
}

/// Positions 1, 2, 3, 5000 and 100000: the log is not whole, but all that is there is legal. It is applied once each.
#[tokio::test]
async fn gaps_are_told_and_what_is_there_is_applied_once() {
    let place = Place::new();
    let mut call = Snapshot::absent();
    let skip_to = |next: i64| place.execute(&format!("UPDATE sqlite_sequence SET seq = {}", next - 1));
    let store = place.open();
    call = does(&store, &call, submit(&request(1))).await;
    let other = does(&store, &Snapshot::absent(), submit(&request(2))).await;
    call = does(&store, &call, claim(20, "worker-1")).await;
    store.close().await;
    skip_to(5_000);
    let store = place.open();
    does(&store, &call, succeed(21, 1)).await;
    store.close().await;
    skip_to(100_000);
    let store = place.open();
    let claimed = does(&store, &other, claim(22, "worker-1")).await;
    assert_eq!(store.load(call_id(2)).await, Ok(Some(claimed)));
    store.close().await;

    let report = place.verify();
    assert_eq!((report.position, report.events, report.calls), (Position(100_000), 5, 2));
    assert_eq!(report.findings.count(), 2);
    let findings = place.findings();
    assert!(tells(&findings, "audit.id", "positions 4 to 4999 are missing"), "{findings:#?}");
    assert!(tells(&findings, "audit.id", "positions 5001 to 99999 are missing"), "{findings:#?}");

    let before = place.tables();
    for _ in 0..2 {
        let rebuilt = place.rebuild().unwrap();
        assert_eq!(
            (rebuilt.position, rebuilt.events, rebuilt.calls, rebuilt.effects),
            (Position(100_000), 5, 2, 1)
        );
        assert_eq!(place.tables(), before);
    }
    assert_eq!(place.compare(), []);
}

#[tokio::test]
async fn a_tail_that_was_cut_off_is_told() {
    let place = Place::with_every_state().await;
    let last = place.verify().position;
    place.execute("DELETE FROM audit WHERE id = (SELECT max(id) FROM audit)");
    let findings = place.findings();
    assert!(tells(&findings, "audit.id", &format!("positions were given up to {last}")), "{findings:#?}");
    let head =
        findings.iter().find(|told| told.law == Law::AcknowledgedIsDurable).expect("the head file remembers");
    assert!(head.problem.contains("1 events are missing"), "{}", head.problem);
}

#[tokio::test]
async fn one_position_that_is_missing_is_told() {
    let place = Place::with_every_state().await;
    place.execute("UPDATE audit SET id = -1 WHERE id = 4");
    let findings = place.findings();
    assert!(tells(&findings, "audit.id", "position 4 is missing"), "{findings:#?}");
    assert!(tells(&findings, "audit.id", "there is a position -1"), "{findings:#?}");
}

/// No call's own chain can show it; the order of the calls does.
#[tokio::test]
async fn events_of_two_calls_that_changed_places_are_told() {
    let swap = |one: i64, other: i64| {
        format!(
            "UPDATE audit SET id = -7 WHERE id = {one}; UPDATE audit SET id = {one} WHERE id = {other}; \
             UPDATE audit SET id = {other} WHERE id = -7"
        )
    };
    let place = Place::with_every_state().await;
    place.execute(&swap(3, 4));
    let findings = place.findings();
    assert!(tells(&findings, "calls.rowid", "the row of this event is number 3"), "{findings:#?}");
    assert!(!place.compare().is_empty());
}

/// Within a call, places that changed are told by their order.
#[tokio::test]
async fn events_of_one_call_that_changed_places_are_told() {
    let place = Place::with_every_state().await;
    let name = id(SUCCEEDED);
    place.execute(&format!(
        "UPDATE audit SET id = -id WHERE call_id = '{name}' AND version > 1; \
         UPDATE audit SET id = (SELECT -b.id FROM audit AS b WHERE b.call_id = '{name}' AND b.version = 3) \
         WHERE call_id = '{name}' AND version = 2; \
         UPDATE audit SET id = {CALLS} + 8 WHERE call_id = '{name}' AND version = 3"
    ));
    let findings = place.findings();
    assert!(tells(&findings, "position", "follows position"), "{findings:#?}");
}

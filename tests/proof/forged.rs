//! Somebody who knows the format writes a history of their own, with hashes and checksums that fit. What was asked cannot be
//! changed without its fingerprint, and what cannot have happened stays illegal.

use std::sync::Arc;

use callonce::domain::call::{Call, Request};
use callonce::domain::event::Event;
use callonce::domain::id::{Position, Version};
use callonce::domain::json::Canonical;
use callonce::domain::law::{Law, Violation};
use callonce::store::Store as _;
use callonce::store::chain::ChainHash;
use callonce::store::codec;
use callonce::store::projection::CallRow;
use callonce::store::record::{Recorded, Snapshot};
use rusqlite::Connection;

use crate::place::{PENDING, Place, RUNNING, SUCCEEDED, call_id, id};

/// Writes these events in place of the call's own, chained as they should be, at the places of the log that it has.
fn forge(place: &Place, n: u64, events: &[Event]) {
    place.meddle(|db| {
        let mut hash = ChainHash::ROOT;
        for (version, event) in (1..).zip(events) {
            let payload = codec::encode(event);
            hash = hash.next(call_id(n), Version(version), event.name(), event.at(), &payload);
            db.execute(
                "UPDATE audit SET ts = ?3, event = ?4, payload = ?5, hash = ?6 WHERE call_id = ?1 AND version = ?2",
                (
                    id(n),
                    version.cast_signed(),
                    event.at().as_seconds(),
                    event.name(),
                    payload,
                    hash.as_bytes().as_slice(),
                ),
            )?;
        }
        Ok(())
    });
}

/// Writes the row of this call, checksum and all.
fn forge_row(db: &Connection, snapshot: &Snapshot) -> rusqlite::Result<usize> {
    let row = CallRow::of(snapshot).unwrap();
    db.execute(
        "UPDATE calls SET args_json = ?2, status = ?3, result_json = ?4, chain = ?5, checksum = ?6 WHERE call_id = ?1",
        (
            row.fixed.call_id.as_ref(),
            row.fixed.args_json,
            row.state.status,
            row.state.result_json,
            row.state.chain,
            row.checksum,
        ),
    )
}

async fn events_of(place: &Place, n: u64) -> Vec<Event> {
    let store = place.open();
    let history = store.history(call_id(n), Version::NONE, 100).await.unwrap();
    store.close().await;
    history.into_iter().map(|Recorded { entry, .. }| entry.event).collect()
}

fn only(findings: &[Violation]) -> &Violation {
    assert_eq!(findings.len(), 1, "{findings:#?}");
    &findings[0]
}

#[tokio::test]
async fn a_checksum_that_fits_its_row_does_not_save_it() {
    let place = Place::with_every_state().await;
    let store = place.open();
    let honest = store.load(call_id(SUCCEEDED)).await.unwrap().unwrap();
    store.close().await;
    let Call::Succeeded { request, attempts, effect, .. } = honest.call.clone() else { unreachable!() };
    let result = Canonical::parse(r#"{"charged":7000}"#).unwrap();
    let forged = Snapshot { call: Call::Succeeded { request, attempts, result, effect }, ..honest };
    place.meddle(|db| forge_row(db, &forged));
    let store = place.open();
    assert_eq!(store.load(call_id(SUCCEEDED)).await, Ok(Some(forged)), "the row alone looks right");
    store.close().await;
    let findings = place.findings();
    let columns: Vec<_> = findings.iter().map(|told| told.member.as_ref()).collect();
    assert_eq!(columns, ["calls.checksum", "calls.result_json"]);
}

#[tokio::test]
async fn other_args_need_another_fingerprint() {
    let place = Place::with_every_state().await;
    let events = events_of(&place, PENDING).await;
    let Event::Created { request } = &events[0] else { unreachable!() };
    let args = Canonical::parse(r#"{"amount":1000000}"#).unwrap();
    let created = Event::Created { request: Arc::new(Request { args, ..(**request).clone() }) };
    forge(&place, PENDING, std::slice::from_ref(&created));
    let (snapshot, _) = Snapshot::absent().apply(created).unwrap();
    place.meddle(|db| forge_row(db, &snapshot));
    let findings = place.findings();
    let told = only(&findings);
    assert_eq!((told.law, told.member.as_ref()), (Law::SameRequest, "fingerprint"));
    assert_eq!((told.call.clone(), told.position), (Some(id(PENDING)), Some(Position(PENDING))));
}

#[tokio::test]
async fn what_cannot_have_happened_is_illegal_however_well_it_is_chained() {
    let place = Place::with_every_state().await;
    let mut events = events_of(&place, RUNNING).await;
    let Event::Claimed { attempt, .. } = &mut events[1] else { unreachable!() };
    attempt.number = 3;
    forge(&place, RUNNING, &events);
    let findings = place.findings();
    let told = only(&findings);
    assert_eq!((told.law, told.member.as_ref(), told.version), (Law::LogIsTruth, "event", Some(Version(2))));
    assert!(told.problem.contains("one by one"), "{}", told.problem);
    let refusal = place.rebuild().unwrap_err().to_string();
    assert!(refusal.contains(&format!("position {}", told.position.unwrap())), "{refusal}");
}

#[tokio::test]
async fn the_event_of_another_call_is_no_event_of_this_one() {
    let place = Place::with_every_state().await;
    let events = events_of(&place, SUCCEEDED).await;
    forge(&place, PENDING, &events[..1]);
    let findings = place.findings();
    let told = |told: &Violation| told.law == Law::OneCallPerKey && told.call == Some(id(PENDING));
    assert!(findings.iter().any(told), "{findings:#?}");
}

//! Each law's check finds what breaks it, and nothing where it holds.

use callonce::domain::call::{Attempt, Call, Effect, Failure, Request};
use callonce::domain::event::{Event, Interruption, Verdict, Way};
use callonce::domain::id::{Position, Version};
use callonce::domain::json::Canonical;
use callonce::domain::law::{
    Answer, Facts, Happened, History, LAWS, Law, Observed, Stored, StoredEffect, check_all, check_call,
    everything_ends,
};
use callonce::store::Store as _;
use callonce::store::memory::MemoryStore;
use callonce::testing::random_calls::{at, owner, request, request_with};
use std::sync::Arc;
use std::time::Duration;

use crate::place::{CALLS, call_id, every_state, random_life};

/// A history of call 1 with these events, at the positions 1, 2, …
fn history(events: impl IntoIterator<Item = Event>) -> History {
    let numbered = (1..).zip(events);
    History::of(
        call_id(1),
        numbered.map(|(n, event)| Happened { position: Position(n), version: Version(n), event }),
    )
}

fn created() -> Event {
    Event::Created { request: request(1) }
}

fn claimed(number: u32) -> Event {
    Event::Claimed {
        at: at(10),
        attempt: Attempt { number, side_effect: true },
        owner: owner("worker-1"),
        lease_until: at(40),
    }
}

fn succeeded(attempt: u32, effect: bool) -> Event {
    Event::Succeeded {
        at: at(20),
        attempt,
        result: Canonical::parse("{}").unwrap(),
        effect: effect.then_some(Effect { amount: Some(1) }),
        by: Verdict::Attempt,
    }
}

fn failed(attempt: u32, retryable: bool) -> Event {
    let error = Failure { code: "declined".into(), message: "no".into(), retryable, cause: None };
    Event::Failed { at: at(20), attempt, error, by: Verdict::Attempt }
}

fn reset() -> Event {
    Event::RetryReset { at: at(30), due: None, by: Verdict::Client }
}

fn given_up(attempt: u32, way: Way) -> Event {
    let (lost, cause) = (owner("worker-1"), Interruption::OwnerGone);
    Event::Recover { at: at(30), attempt, lost, cause, way }
}

/// The laws that are broken, each once.
fn broken(facts: &Facts<'_>) -> Vec<Law> {
    let mut laws: Vec<_> = check_call(facts).into_iter().map(|violation| violation.law).collect();
    laws.sort();
    laws.dedup();
    laws
}

#[tokio::test]
async fn nothing_is_broken_where_all_went_well() {
    let store = MemoryStore::new();
    every_state(&store).await;
    hold(&store, CALLS).await;
    let store = MemoryStore::new();
    random_life(&store, 5, 500).await;
    hold(&store, 40).await;
}

async fn hold(store: &MemoryStore, calls: u64) {
    let mut histories = Vec::new();
    for n in 1..=calls {
        let events = store.history(call_id(n), Version::NONE, 1_000).await.unwrap();
        let events = events.into_iter().map(|recorded| Happened {
            position: recorded.position,
            version: recorded.entry.version,
            event: recorded.entry.event,
        });
        let snapshot = store.load(call_id(n)).await.unwrap().unwrap();
        let stored = Stored { call: snapshot.call.clone(), version: snapshot.version };
        let observed = Observed { version: snapshot.version, answer: Answer::of(&snapshot.call).unwrap() };
        histories.push((History::of(call_id(n), events), stored, observed));
    }
    let facts: Vec<_> = histories
        .iter()
        .map(|(history, stored, observed)| Facts {
            stored: Some(stored),
            observed: std::slice::from_ref(observed),
            ..Facts::of(history)
        })
        .collect();
    assert_eq!(check_all(&facts), []);
}

#[test]
fn each_law_has_its_number_and_its_name() {
    let numbers: Vec<_> = LAWS.iter().map(|(law, _)| law.number()).collect();
    assert_eq!(numbers, ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8"]);
    assert!(LAWS.iter().all(|(law, _)| !law.name().is_empty()));
}

#[test]
fn l1_a_call_is_created_once_under_its_own_id() {
    let twice = history([created(), created()]);
    assert!(broken(&Facts::of(&twice)).contains(&Law::OneCallPerKey));
    let never = history([claimed(1)]);
    assert!(broken(&Facts::of(&never)).contains(&Law::OneCallPerKey));
    let anothers = history([Event::Created { request: request(2) }]);
    assert_eq!(broken(&Facts::of(&anothers)), [Law::OneCallPerKey]);

    let one = history([created()]);
    let other = request_with(1, "another-key", "charge", r#"{"amount":1}"#, None);
    let stored = Stored {
        call: Call::Pending { request: other, attempts: 0, open: None, due: None },
        version: Version(1),
    };
    let facts = Facts { stored: Some(&stored), ..Facts::of(&one) };
    assert_eq!(broken(&facts), [Law::OneCallPerKey, Law::LogIsTruth]);
}

#[test]
fn l1_no_key_leads_to_two_calls() {
    let one = history([created()]);
    let same_key = request_with(2, request(1).key.as_str(), "charge", "{}", None);
    let event = Event::Created { request: same_key };
    let two = History::of(call_id(2), [Happened { position: Position(2), version: Version(1), event }]);
    let violations = check_all(&[Facts::of(&one), Facts::of(&two)]);
    assert_eq!(violations.len(), 1);
    assert_eq!(
        (violations[0].law, violations[0].call.clone()),
        (Law::OneCallPerKey, Some(call_id(2).to_string()))
    );
    assert!(violations[0].problem.contains(&call_id(1).to_string()));
}

#[test]
fn l2_effects_are_recorded_and_stored_once_and_only_where_owed() {
    let owed = history([created(), claimed(1), succeeded(1, false)]);
    assert!(broken(&Facts::of(&owed)).contains(&Law::OneEffectPerCall));
    let twice = history([created(), claimed(1), succeeded(1, true), succeeded(1, true)]);
    assert!(broken(&Facts::of(&twice)).contains(&Law::OneEffectPerCall));

    let once = history([created(), claimed(1), succeeded(1, true)]);
    let effect = |id: String, amount| StoredEffect { effect_id: id, amount };
    let right = effect(call_id(1).effect_id().to_string(), Some(1));
    let with = |effects: &[StoredEffect]| broken(&Facts { effects: Some(effects), ..Facts::of(&once) });
    assert_eq!(with(std::slice::from_ref(&right)), []);
    assert_eq!(with(&[]), [Law::OneEffectPerCall]);
    assert_eq!(with(&[right.clone(), right.clone()]), [Law::OneEffectPerCall]);
    assert_eq!(with(&[effect("eff_other".into(), Some(1))]), [Law::OneEffectPerCall]);
    assert_eq!(with(&[effect(right.effect_id.clone(), Some(2))]), [Law::OneEffectPerCall]);
    for (amount, problem) in [(Some(2), "is 2, not 1"), (None, "is none, not 1")] {
        let wrong = [effect(right.effect_id.clone(), amount)];
        let told = check_call(&Facts { effects: Some(&wrong), ..Facts::of(&once) });
        assert_eq!(told[0].problem, problem);
    }
    let pending = history([created()]);
    let facts = Facts { effects: Some(std::slice::from_ref(&right)), ..Facts::of(&pending) };
    assert_eq!(broken(&facts), [Law::OneEffectPerCall]);
}

#[test]
fn l3_the_lease_has_one_holder_and_numbers_rise() {
    for events in [
        vec![created(), claimed(1), claimed(2)],
        vec![created(), claimed(1), given_up(1, Way::Requeued), claimed(1)],
        vec![created(), claimed(1), given_up(1, Way::Requeued), claimed(2), succeeded(1, true)],
        vec![created(), claimed(1), given_up(2, Way::Requeued)],
        vec![created(), given_up(0, Way::Held)],
        vec![created(), claimed(1), reset()],
        vec![created(), claimed(1), failed(2, false)],
    ] {
        let history = history(events.clone());
        assert!(broken(&Facts::of(&history)).contains(&Law::OneRunner), "{events:?}");
    }
}

#[test]
fn l4_nothing_follows_an_end_and_no_final_answer_changes() {
    for last in [succeeded(1, true), failed(1, false)] {
        let after = history([created(), claimed(1), last.clone(), reset()]);
        assert!(broken(&Facts::of(&after)).contains(&Law::FinalIsFinal), "{last:?}");
    }
    let retried = history([created(), claimed(1), failed(1, true), reset()]);
    assert_eq!(broken(&Facts::of(&retried)), []);

    let done = history([created(), claimed(1), succeeded(1, true)]);
    let right = Answer::of(done.last()).unwrap();
    let other = Answer { result: Some(Canonical::parse("[]").unwrap()), ..right.clone() };
    let seen = |answer| [Observed { version: Version(3), answer }];
    assert_eq!(broken(&Facts { observed: &seen(right), ..Facts::of(&done) }), []);
    let facts = seen(other);
    let facts = Facts { observed: &facts, ..Facts::of(&done) };
    assert_eq!(broken(&facts), [Law::FinalIsFinal, Law::AcknowledgedIsDurable]);
}

#[test]
fn l5_what_was_asked_has_its_own_fingerprint_and_stays() {
    let honest = request(1);
    let args = Canonical::parse(r#"{"amount":1000}"#).unwrap();
    let forged = Arc::new(Request { args, ..(*honest).clone() });
    let forged_history = history([Event::Created { request: forged.clone() }]);
    assert_eq!(broken(&Facts::of(&forged_history)), [Law::SameRequest]);
    let history = history([created()]);
    let call = Call::Pending { request: forged, attempts: 0, open: None, due: None };
    let stored = Stored { call, version: Version(1) };
    let facts = Facts { stored: Some(&stored), ..Facts::of(&history) };
    assert_eq!(broken(&facts), [Law::SameRequest, Law::LogIsTruth]);
}

#[test]
fn l6_what_a_client_was_told_is_in_the_log() {
    let history = history([created(), claimed(1)]);
    let answer = Answer::of(history.last()).unwrap();
    let told = |version, answer: &Answer| {
        let observed = [Observed { version: Version(version), answer: answer.clone() }];
        broken(&Facts { observed: &observed, ..Facts::of(&history) })
    };
    assert_eq!(told(2, &answer), []);
    assert_eq!(told(3, &answer), [Law::AcknowledgedIsDurable], "the log lost it");
    assert_eq!(told(1, &answer), [Law::AcknowledgedIsDurable], "it was not so then");
}

#[test]
fn l7_versions_positions_legality_and_the_stored_call() {
    let happened = |position, version, event| Happened {
        position: Position(position),
        version: Version(version),
        event,
    };
    for events in [
        vec![happened(1, 2, created())],
        vec![happened(1, 1, created()), happened(2, 3, claimed(1))],
        vec![happened(2, 1, created()), happened(1, 2, claimed(1))],
        vec![happened(0, 1, created())],
        vec![happened(1, 1, created()), happened(2, 2, given_up(1, Way::Held))],
    ] {
        let history = History::of(call_id(1), events.clone());
        assert!(broken(&Facts::of(&history)).contains(&Law::LogIsTruth), "{events:?}");
    }
    let history = history([created(), claimed(1)]);
    let right = Stored { call: history.last().clone(), version: Version(2) };
    let check = |stored: &Stored| broken(&Facts { stored: Some(stored), ..Facts::of(&history) });
    assert_eq!(check(&right), []);
    assert_eq!(check(&Stored { version: Version(1), ..right.clone() }), [Law::LogIsTruth]);
    let pending = Call::Pending { request: request(1), attempts: 0, open: None, due: None };
    assert_eq!(check(&Stored { call: pending, ..right }), [Law::LogIsTruth]);
}

#[test]
fn l8_an_attempt_does_not_outlive_its_lease_for_long() {
    let running = history([created(), claimed(1)]);
    let held = history([created(), claimed(1), given_up(1, Way::Held)]);
    let at_end = at(40).plus(everything_ends::GRACE);
    let late = at_end.plus(Duration::from_micros(1));
    assert_eq!(broken(&Facts { now: Some(at_end), ..Facts::of(&running) }), []);
    assert_eq!(broken(&Facts { now: Some(late), ..Facts::of(&running) }), [Law::EverythingEnds]);
    assert_eq!(broken(&Facts { now: Some(late), ..Facts::of(&held) }), []);
    assert_eq!(broken(&Facts::of(&running)), [], "where no server is at work, nothing is late");
}

//! Does a store do as the reference says? One store, what is known of each of its calls, and the checks after each step.

use callonce::domain::event::Event;
use callonce::domain::id::{IdemKey, Position, Version};
use callonce::domain::law::{
    Answer, Facts, Happened, History, Observed, Stored, StoredEffect, Violation, check_all, check_call,
};
use callonce::store::counters::Counter;
use callonce::store::projection::{CallRow, StateColumns};
use callonce::store::rebuild::Folding;
use callonce::store::{Recorded, Snapshot, Stats, Store};
use callonce::testing::random_calls::at;

use crate::driver::{Done, carry_out, decided, queue};
use crate::reference::{Ask, Outcome, Reference};
use crate::transition::View;
use crate::view::{row_of, stats_of};

/// A store and its calls.
pub struct World<S> {
    pub store: S,
    pub calls: Vec<Watched>,
    /// Versions that were lost to somebody else.
    pub conflicts: usize,
}

/// What is known of one call.
pub struct Watched {
    pub latest: Snapshot,
    /// As it was some steps ago.
    earlier: Snapshot,
    history: History,
    pub effects: Vec<StoredEffect>,
    /// What was read.
    observed: Vec<Observed>,
}

impl<S: Store> World<S> {
    /// Over an empty store.
    pub fn new(store: S) -> Self {
        Self { store, calls: vec![], conflicts: 0 }
    }

    /// Carries out what was asked of the reference in its last step.
    pub async fn step(&mut self, reference: &Reference, view: View, queued: bool) {
        for (call, ask, now, expected) in &reference.steps {
            let known = self.known(*call, ask, *now, view, queued).await;
            let done = match queued {
                true => queue(&self.store, known, *call, ask, *now),
                false => carry_out(&self.store, known, *call, ask, *now).await,
            };
            assert_eq!(done.outcome, *expected, "call {call} was asked {ask:?} at {now}");
            self.conflicts += done.conflicts;
            self.remember(*call, done);
        }
    }

    /// The view of the call that it is decided on first.
    async fn known(&self, call: usize, ask: &Ask, now: i64, view: View, queued: bool) -> Snapshot {
        let Some(watched) = self.calls.get(call) else { return Snapshot::absent() };
        // Whoever submits does not look first: it finds the key taken.
        if matches!(ask, Ask::Submit { .. }) && !queued {
            return Snapshot::absent();
        }
        // An old view that changes nothing answers as of then, and is nothing to compare.
        let old = view == View::Old
            && !queued
            && decided(&watched.earlier.call, call, ask, now).is_ok_and(|events| !events.is_empty());
        match old {
            true => watched.earlier.clone(),
            false => self.load(watched).await,
        }
    }

    async fn load(&self, watched: &Watched) -> Snapshot {
        self.store.load(watched.history.call_id()).await.expect("the store works").expect("it is there")
    }

    fn remember(&mut self, call: usize, done: Done) {
        if let (Outcome::Events(_), None) = (&done.outcome, self.calls.get(call)) {
            let call_id = done.after.call.request().expect("it was created").call_id;
            let (earlier, history) = (done.after.clone(), History::new(call_id));
            let (effects, observed) = (vec![], vec![]);
            self.calls.push(Watched { latest: done.after, earlier, history, effects, observed });
        } else if let Some(watched) = self.calls.get_mut(call) {
            if done.after.version.0.is_multiple_of(4) {
                watched.earlier = std::mem::replace(&mut watched.latest, done.after);
            } else {
                watched.latest = done.after;
            }
        }
    }

    /// Reads what was touched: it is as the reference says, and no law is broken.
    pub async fn check(&mut self, reference: &Reference) {
        for (call, ask, _, outcome) in &reference.steps {
            self.check_one(reference, *call, ask, outcome).await;
        }
        let mut stats = self.store.stats(at(reference.now)).await.expect("the store works");
        stats.wal_bytes = 0;
        assert_eq!(stats, stats_of(reference), "the counters");
    }

    async fn check_one(&mut self, reference: &Reference, call: usize, ask: &Ask, outcome: &Outcome) {
        let key = IdemKey::parse(&format!("key-{call}")).expect("a key");
        let found = self.store.find(&key).await.expect("the store works");
        let Some(watched) = self.calls.get_mut(call) else {
            assert_eq!(found, None, "a key that nobody took");
            return;
        };
        let snapshot = found.expect("it is there");
        assert_eq!(snapshot, watched.latest, "call {call} as it is stored, after {ask:?}");
        assert_eq!(row_of(&snapshot), *reference.row(call), "call {call} after {ask:?}");
        let Outcome::Events(names) = outcome else { return };
        let id = watched.history.call_id();
        let news = self.store.history(id, watched.history.version(), 8).await.expect("the store works");
        let told: Vec<_> = news.iter().map(|recorded| recorded.entry.event.name()).collect();
        assert_eq!(told, *names, "the events of call {call} after {ask:?}");
        for recorded in news {
            watched.take(recorded);
        }
        watched.observe(&snapshot);
        none_broken(&watched.check());
    }

    /// Checks everything: all laws on all calls from the whole log, and what the log makes.
    pub async fn check_everything(&self, reference: &Reference) {
        let log = self.store.scan(Position::START, usize::MAX).await.expect("the store works");
        assert_eq!(log.len() as u64, reference.position, "events in the log");
        for (place, recorded) in log.iter().enumerate() {
            assert_eq!(recorded.position.0, place as u64 + 1, "positions have no gap");
        }
        let mut folding = Folding::new();
        let mut histories = Vec::new();
        for (call, watched) in self.calls.iter().enumerate() {
            let id = watched.history.call_id();
            let events: Vec<_> = log.iter().filter(|recorded| recorded.entry.call_id == id).collect();
            let mut folded = Snapshot::absent();
            for recorded in &events {
                folded = folded.replay(recorded).expect("the log follows");
                folding.event(recorded).expect("the log follows");
            }
            let loaded = self.load(watched).await;
            assert_eq!(loaded, folded, "call {call} is the fold of its events");
            assert_eq!(row_of(&loaded), *reference.row(call), "call {call} at the end");
            let claimed =
                events.iter().filter(|recorded| matches!(recorded.entry.event, Event::Claimed { .. }));
            assert_eq!(claimed.count(), loaded.call.attempts() as usize, "claims of call {call}");
            let row = CallRow::of(&loaded).expect("it was created");
            assert_eq!(mixed(&row.state), None, "call {call}: {row:?}");
            let happened = events.into_iter().cloned().map(happened);
            histories.push((History::of(id, happened), stored(&loaded)));
        }
        folding.finish_call();
        let facts: Vec<_> = histories
            .iter()
            .zip(&self.calls)
            .map(|((history, stored), watched)| watched.facts(history, stored))
            .collect();
        none_broken(&check_all(&facts));
        let mut counted = Stats::default();
        for (counter, value) in folding.counted().iter() {
            counted.take_in(counter, value.unsigned_abs());
        }
        assert_eq!(folding.counted().get(Counter::Calls), self.calls.len() as i64);
        let stats = self.store.stats(at(reference.now)).await.expect("the store works");
        let kept = (stats.calls, stats.effects, stats.held, stats.by_status, stats.attempts);
        assert_eq!(kept, (counted.calls, counted.effects, counted.held, counted.by_status, counted.attempts));
    }
}

impl Watched {
    fn take(&mut self, recorded: Recorded) {
        if let Event::Succeeded { effect: Some(effect), .. } = &recorded.entry.event {
            let effect_id = recorded.entry.call_id.effect_id().to_string();
            self.effects.push(StoredEffect { effect_id, amount: effect.amount });
        }
        self.history.push(happened(recorded));
    }

    fn observe(&mut self, snapshot: &Snapshot) {
        let answer = Answer::of(&snapshot.call).expect("it was created");
        self.observed.push(Observed { version: snapshot.version, answer });
    }

    fn check(&self) -> Vec<Violation> {
        check_call(&self.facts(&self.history, &stored(&self.latest)))
    }

    fn facts<'a>(&'a self, history: &'a History, stored: &'a Stored) -> Facts<'a> {
        Facts {
            stored: Some(stored),
            effects: Some(&self.effects),
            observed: &self.observed,
            ..Facts::of(history)
        }
    }
}

fn stored(snapshot: &Snapshot) -> Stored {
    Stored { call: snapshot.call.clone(), version: Version(snapshot.version.0) }
}

fn happened(recorded: Recorded) -> Happened {
    let Recorded { position, entry } = recorded;
    Happened { position, version: entry.version, event: entry.event }
}

fn none_broken(broken: &[Violation]) {
    let broken: Vec<_> = broken.iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "laws are broken: {broken:#?}");
}

/// What a row has that its status forbids, or lacks.
fn mixed(row: &StateColumns<'_>) -> Option<&'static str> {
    let held = row.held_since.is_some();
    let (lease, owner) = (row.lease_until.is_some(), row.owner.is_some());
    let runs = row.status == "running" && !held;
    let can_end = row.open_attempt.is_some();
    [
        (lease != runs || owner != runs, "lease and owner are of a call that runs"),
        (held && row.status != "running", "only a running call is held"),
        (held != row.held_reason.is_some(), "what is held has a reason"),
        (row.status == "running" && !can_end, "what runs can end"),
        (["succeeded", "failed"].contains(&row.status) && can_end, "what has ended is not open"),
        ((row.status == "succeeded") != row.result_json.is_some(), "a success has a result"),
        ((row.status == "failed") != row.error_json.is_some(), "a failure has an error"),
        (row.status != "succeeded" && row.effect_id.is_some(), "only a success has an effect"),
        (row.status != "pending" && row.due_at.is_some(), "only what waits is due"),
        (row.status != "pending" && row.attempt == 0, "whatever is past waiting was claimed"),
    ]
    .into_iter()
    .find_map(|(wrong, rule)| wrong.then_some(rule))
}

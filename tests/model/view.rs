//! What does a store show? A snapshot and the counters, told in the reference's words.

use std::collections::BTreeMap;

use callonce::domain::call::{Call, Failure, Status};
use callonce::domain::event::Interruption;
use callonce::domain::id::Position;
use callonce::store::{Snapshot, Stats};
use callonce::testing::random_calls::at;

use crate::driver::{RESULTS, VARIANTS, WORKERS, seconds};
use crate::reference::{Error, Reference, Row};
use crate::table::State;

/// Every code that an error may have here.
const CODES: [&str; 11] = [
    "busy",
    "declined",
    "interrupted",
    "not_happened",
    "abandoned",
    "retry_exhausted",
    "lease_over",
    "owner_gone",
    "timeout",
    "panicked",
    "outcome_unknown",
];

/// The call as the reference would show it.
pub fn row_of(snapshot: &Snapshot) -> Row {
    let request = snapshot.call.request().expect("a stored call");
    let args = (request.tool.as_str(), request.args.as_str());
    let id: [u8; 8] = request.call_id.as_bytes()[8..].try_into().expect("eight bytes");
    let mut row = Row {
        id: u64::from_be_bytes(id),
        variant: index(&VARIANTS, args),
        version: snapshot.version.0,
        attempt: snapshot.call.attempts(),
        open: snapshot.call.open_attempt().map(|open| open.side_effect),
        created: seconds(request.created_at),
        updated: seconds(snapshot.updated_at),
        ..Row::absent()
    };
    row.state = match &snapshot.call {
        Call::Absent => State::Absent,
        Call::Pending { due, .. } => {
            row.due = due.map(seconds);
            State::Pending
        }
        Call::Running { owner, lease_until, .. } => {
            (row.owner, row.lease_until) =
                (Some(index(&WORKERS, owner.as_str())), Some(seconds(*lease_until)));
            State::Running
        }
        Call::Held { since, reason, .. } => {
            row.held = Some((seconds(*since), Interruption::as_str(*reason)));
            State::Held
        }
        Call::Succeeded { result, effect, .. } => {
            row.result = Some(index(&RESULTS, result.as_str()));
            row.effect = effect.map(|effect| effect.amount);
            State::Final
        }
        Call::Failed { error, .. } => {
            row.error = Some(told(error));
            if error.retryable { State::FailedRetryable } else { State::Final }
        }
    };
    row
}

fn told(error: &Failure) -> Error {
    let code = |code: &str| CODES[usize::from(index(&CODES, code))];
    assert!(!error.message.is_empty(), "an error says something to people");
    Error { code: code(&error.code), cause: error.cause.as_deref().map(code), retryable: error.retryable }
}

fn index<T: PartialEq + std::fmt::Debug>(of: &[T], value: T) -> u8 {
    let place = of.iter().position(|known| *known == value);
    u8::try_from(place.unwrap_or_else(|| panic!("{value:?} came from nowhere"))).expect("few")
}

/// The counters that the reference counts, call by call.
pub fn stats_of(reference: &Reference) -> Stats {
    let mut stats = Stats {
        position: (reference.position > 0).then_some(Position(reference.position)),
        by_status: BTreeMap::new(),
        ..Stats::default()
    };
    for row in reference.rows() {
        stats.calls += 1;
        stats.effects += u64::from(row.effect.is_some());
        *stats.by_status.entry(Status::parse(row.status()).expect("a status")).or_default() += 1;
        stats.held += u64::from(row.held.is_some());
        *stats.attempts.entry(row.attempt).or_default() += 1;
        stats.lease_over += u64::from(row.lease_until.is_some_and(|until| until <= reference.now));
        if row.state == State::Pending && stats.oldest_pending.is_none() {
            stats.oldest_pending = Some(at(row.created));
        }
    }
    stats
}

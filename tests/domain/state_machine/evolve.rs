//! Does the page say what `evolve` does? Every event in every state: legal, or an error that names both.

use std::sync::Arc;

use callonce::domain::call::{Attempt, Call, Effect};
use callonce::domain::event::{Event, Interruption, Verdict, Way};
use callonce::domain::{Failure, evolve};
use callonce::testing::given::*;

use super::page::table;
use super::states::{COLUMNS, calls, column};

type Row = (&'static str, fn(&Call) -> Vec<Event>);

const ROWS: [Row; 22] = [
    ("`created`", |_| vec![created(), Event::Created { request: Arc::new(other_request()) }]),
    ("`claimed`, the next attempt", |call| vec![claimed(call.attempts() + 1)]),
    ("`claimed`, any other attempt", |call| {
        let (last, after_next) = (call.attempts(), call.attempts() + 2);
        [0, last, after_next, u32::MAX].map(claimed).into()
    }),
    ("`succeeded`, by the latest attempt", |call| vec![success(call, latest(call), Verdict::Attempt)]),
    ("`succeeded`, by any other attempt", |call| {
        others(call).map(|attempt| success(call, attempt, Verdict::Attempt)).into()
    }),
    ("`succeeded`, with an effect where none is owed, or without", |call| {
        let effect = (!owes(call)).then(effect);
        [Verdict::Attempt, settled()].map(|by| success_with(effect, latest(call), by)).into()
    }),
    ("`succeeded`, settled", |call| vec![success(call, latest(call), settled())]),
    ("`succeeded`, by a client or the server", |call| {
        [Verdict::Client, Verdict::Server].map(|by| success(call, latest(call), by)).into()
    }),
    ("`failed`, by the latest attempt, may be retried", |call| {
        vec![failure_of(latest(call), refused(), Verdict::Attempt)]
    }),
    ("`failed`, by the latest attempt, for good", |call| {
        vec![failure_of(latest(call), declined(), Verdict::Attempt)]
    }),
    ("`failed`, by any other attempt", |call| {
        others(call).map(|attempt| failure_of(attempt, declined(), Verdict::Attempt)).into()
    }),
    ("`failed`, by the server, may be retried", |call| {
        vec![failure_of(call.attempts(), refused(), Verdict::Server)]
    }),
    ("`failed`, by the server, for good", |call| {
        vec![failure_of(call.attempts(), declined(), Verdict::Server)]
    }),
    ("`failed`, settled, may be retried", |call| vec![failure_of(latest(call), refused(), settled())]),
    ("`failed`, settled, for good", |call| vec![failure_of(latest(call), declined(), settled())]),
    ("`failed`, by a client", |call| {
        [refused(), declined()].map(|error| failure_of(latest(call), error, Verdict::Client)).into()
    }),
    ("`retry_reset`, by a client or the server", |_| [Verdict::Client, Verdict::Server].map(reset_by).into()),
    ("`retry_reset`, settled", |_| vec![reset_by(settled())]),
    ("`retry_reset`, by an attempt", |_| vec![reset_by(Verdict::Attempt)]),
    ("`recover`, requeued", |call| {
        Interruption::ALL.map(|cause| given_up(latest(call), cause, Way::Requeued)).into()
    }),
    ("`recover`, held", |call| {
        Interruption::ALL.map(|cause| given_up(latest(call), cause, Way::Held)).into()
    }),
    ("`recover`, any other attempt", |call| {
        let ways = [Way::Requeued, Way::Held];
        let all = others(call).into_iter().flat_map(|attempt| ways.map(|way| (attempt, way)));
        all.map(|(attempt, way)| given_up(attempt, Interruption::OwnerGone, way)).collect()
    }),
];

fn latest(call: &Call) -> u32 {
    call.attempts().max(1)
}

fn others(call: &Call) -> [u32; 3] {
    [latest(call) - 1, latest(call) + 1, u32::MAX]
}

fn owes(call: &Call) -> bool {
    call.open_attempt().is_none_or(|open| open.side_effect)
}

fn success(call: &Call, attempt: u32, by: Verdict) -> Event {
    success_with(owes(call).then(effect), attempt, by)
}

fn success_with(effect: Option<Effect>, attempt: u32, by: Verdict) -> Event {
    Event::Succeeded { at: NOW, attempt, result: result(), effect, by }
}

fn failure_of(attempt: u32, error: Failure, by: Verdict) -> Event {
    Event::Failed { at: NOW, attempt, error, by }
}

fn reset_by(by: Verdict) -> Event {
    Event::RetryReset { at: NOW, due: None, by }
}

#[test]
fn every_cell_says_what_evolve_does() {
    let page = table("event");
    assert_eq!(page.columns, COLUMNS);
    let rows: Vec<_> = page.rows.iter().map(|(row, _)| row.as_str()).collect();
    assert_eq!(rows, ROWS.map(|(row, _)| row));
    let mut wrong = Vec::new();
    for ((row, events), (_, cells)) in ROWS.iter().zip(&page.rows) {
        for given in calls() {
            let state = column(&given.call);
            let says = &cells[COLUMNS.iter().position(|column| *column == state).expect("a column")];
            for event in events(&given.call) {
                let does = match evolve(&given.call, &event) {
                    Ok(call) => column(&call),
                    Err(_) => "illegal",
                };
                if does != says {
                    wrong.push(format!(
                        "{row} | {state}: the page says `{says}`, evolve does `{does}`: {event:?}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_illegal_event_names_itself_and_the_state() {
    let mut illegal = 0;
    for (_, events) in ROWS {
        for given in calls() {
            for event in events(&given.call) {
                let Err(error) = evolve(&given.call, &event) else { continue };
                let (name, state) = (event.name(), given.call.state_name());
                assert_eq!((error.event, error.state), (name, state));
                let message = error.to_string();
                assert!(
                    message.starts_with(&format!("`{name}` cannot follow in the state {state}: ")),
                    "{message}"
                );
                illegal += 1;
            }
        }
    }
    assert!(illegal > 500, "only {illegal} events were illegal");
}

#[test]
fn an_event_leaves_in_the_state_what_it_says() {
    let request = Arc::new(request());
    let attempt = Attempt { number: 1, side_effect: true };
    let pending = Given::pending().call;
    assert_eq!(pending, Call::Pending { request: request.clone(), attempts: 0, open: None, due: None });
    let running = Given::running().call;
    let owner = owner();
    assert_eq!(running, Call::Running { request: request.clone(), attempt, owner, lease_until: LEASE_OVER });
    let recovered = Given::recovered().call;
    let open = Some(attempt);
    assert_eq!(recovered, Call::Pending { request: request.clone(), attempts: 1, open, due: None });
    let held = Given::held().call;
    let reason = Interruption::LeaseOver;
    assert_eq!(held, Call::Held { request: request.clone(), attempt, since: LEASE_OVER, reason });
    let succeeded = Given::succeeded().call;
    let (result, effect) = (result(), Some(effect()));
    assert_eq!(succeeded, Call::Succeeded { request: request.clone(), attempts: 1, result, effect });
    let failed = Given::failed().call;
    assert_eq!(failed, Call::Failed { request: request.clone(), attempts: 1, error: declined() });
    let due = Some(LEASE_OVER);
    let later = Given::failed_retryable().after(Event::RetryReset { at: NOW, due, by: Verdict::Server }).call;
    assert_eq!(later, Call::Pending { request, attempts: 1, open: None, due });
}

#[test]
fn counting_attempts_cannot_overflow() {
    let Call::Pending { request, .. } = Given::pending().call else { panic!("it is pending") };
    let call = Call::Pending { request, attempts: u32::MAX, open: None, due: None };
    for number in [0, 1, u32::MAX] {
        let illegal = evolve(&call, &claimed(number)).expect_err("there is no next attempt");
        assert_eq!((illegal.event, illegal.state), ("claimed", "pending"));
    }
}

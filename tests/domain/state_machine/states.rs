//! Calls for each state, by the name of its column.

use std::sync::Arc;

use callonce::domain::call::{Attempt, Call};
use callonce::domain::event::{Event, Interruption, Verdict, Way};
use callonce::testing::given::*;

/// The columns of every table, in order.
pub const COLUMNS: [&str; 7] =
    ["absent", "pending", "pending (open)", "running", "held", "failed-retryable", "final"];

/// The column of a call's state.
pub fn column(call: &Call) -> &'static str {
    match call {
        Call::Pending { open: Some(_), .. } => "pending (open)",
        Call::Absent
        | Call::Pending { .. }
        | Call::Running { .. }
        | Call::Held { .. }
        | Call::Succeeded { .. }
        | Call::Failed { .. } => call.state_name(),
    }
}

/// Every kind of call there is, come about in every way.
pub fn calls() -> Vec<Given> {
    let mut calls = vec![
        Given::absent(),
        Given::pending(),
        Given::failed_retryable().after(reset()),
        Given::failed_retryable().after(Event::RetryReset { at: NOW, due: Some(NOW), by: Verdict::Server }),
        Given::held().after(Event::RetryReset { at: NOW, due: None, by: settled() }),
        Given::recovered(),
        Given::recovered().after(claimed(2)).after(given_up(2, Interruption::OwnerGone, Way::Requeued)),
        Given::running(),
        Given::recovered().after(claimed(2)),
        Given::failed_retryable().after(reset()).after(claimed(2)),
        Given::failed_retryable(),
        Given::recovered().after(failed(1, refused())),
        Given::succeeded(),
        Given::recovered().after(succeeded(1)),
        Given::held().after(Event::Succeeded {
            at: NOW,
            attempt: 1,
            result: result(),
            effect: Some(effect()),
            by: settled(),
        }),
        Given::failed(),
        Given::held().after(failed(1, declined())),
        Given::recovered().after(Event::Failed {
            at: NOW,
            attempt: 1,
            error: refused().exhausted(1),
            by: Verdict::Server,
        }),
        Given::held().after(Event::Failed { at: NOW, attempt: 1, error: declined(), by: settled() }),
    ];
    calls.extend(Interruption::ALL.map(|cause| Given::running().after(given_up(1, cause, Way::Held))));
    calls.extend(harmless());
    calls
}

/// Calls of a tool without a side effect.
fn harmless() -> Vec<Given> {
    let attempt = Attempt { number: 1, side_effect: false };
    let claimed = Event::Claimed { at: NOW, attempt, owner: owner(), lease_until: LEASE_OVER };
    let running = Given::absent().after(Event::Created { request: Arc::new(request()) }).after(claimed);
    let succeeded =
        Event::Succeeded { at: NOW, attempt: 1, result: result(), effect: None, by: Verdict::Attempt };
    vec![
        running.clone(),
        running.clone().after(given_up(1, Interruption::OwnerGone, Way::Requeued)),
        running.clone().after(given_up(1, Interruption::OwnerGone, Way::Held)),
        running.clone().after(succeeded),
        running.after(failed(1, refused())),
    ]
}

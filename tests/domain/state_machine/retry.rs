//! The server tries a failed call again by itself.

use std::time::Duration;

use callonce::domain::Refusal;
use callonce::domain::backoff::Backoff;
use callonce::domain::event::{Event, Verdict};
use callonce::domain::policy::Retries;
use callonce::testing::given::*;

fn later() -> callonce::domain::time::Timestamp {
    NOW.plus(Duration::from_secs(7))
}

fn put_off() -> Event {
    Event::RetryReset { at: NOW, due: Some(later()), by: Verdict::Server }
}

#[test]
fn a_failed_call_waits_until_it_is_due_and_runs_as_the_next_attempt() {
    let waits = Given::failed_retryable().when(retry(later())).then([put_off()]).is("pending");
    waits.when(claim()).refused(Refusal::NotDue { due: later() });
    let due = callonce::domain::command::Claim { at: later(), ..claim() };
    let Event::Claimed { attempt, owner, .. } = claimed(2) else { panic!("it is a claim") };
    let lease_until = later().plus(policy().lease);
    waits.when(due).then([Event::Claimed { at: later(), attempt, owner, lease_until }]).is("running");
}

#[test]
fn a_request_with_its_key_waits_too() {
    Given::failed_retryable().when(retry(later())).then([put_off()]).when(submit()).nothing();
}

#[test]
fn what_ended_otherwise_is_left_as_it_is() {
    for given in [Given::failed(), Given::succeeded(), Given::held(), Given::running(), Given::pending()] {
        given.when(retry(later())).nothing();
    }
}

#[test]
fn it_is_due_within_the_budget_of_the_call_or_not_at_all() {
    let backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(60) };
    let retries = Retries { backoff, budget: Duration::from_secs(100) };
    let after = |seconds| NOW.plus(Duration::from_secs(seconds));
    let due = |at, attempt, chance, longer| retries.due(NOW, at, attempt, chance, longer);
    assert_eq!(due(NOW, 1, 0.0, None), Some(NOW));
    assert_eq!(due(NOW, 3, 1.0, None), Some(after(4)));
    assert_eq!(due(NOW, 3, 0.5, Some(Duration::from_secs(30))), Some(after(32)));
    assert_eq!(due(after(40), 9, 1.0, None), Some(after(100)));
    assert_eq!(due(after(41), 9, 1.0, None), None);
    assert_eq!(due(NOW, 1, 0.0, Some(Duration::MAX)), None);
}

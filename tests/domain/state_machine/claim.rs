//! A worker wants to run the call.

use std::time::Duration;

use callonce::domain::Refusal;
use callonce::domain::call::Attempt;
use callonce::domain::command::Claim;
use callonce::domain::event::{Event, Interruption, Verdict, Way};
use callonce::domain::id::Owner;
use callonce::domain::policy::Policy;
use callonce::domain::time::Timestamp;
use callonce::testing::given::*;

#[test]
fn a_pending_call_is_claimed_under_the_terms_of_its_tool() {
    let owner = Owner::parse("2:b").expect("valid");
    let policy = Policy { side_effect: false, lease: Duration::from_secs(7), ..policy() };
    let lease_until = NOW.plus(Duration::from_secs(7));
    let attempt = Attempt { number: 1, side_effect: false };
    Given::pending()
        .when(Claim { at: NOW, owner: owner.clone(), policy })
        .then([Event::Claimed { at: NOW, attempt, owner, lease_until }])
        .is("running");
}

#[test]
fn the_second_claim_of_a_call_is_refused_by_the_same_worker_too() {
    let leased = Refusal::Leased { until: LEASE_OVER };
    Given::running().when(claim()).refused(leased.clone());
    let other = Owner::parse("2:b").expect("valid");
    Given::running().when(Claim { owner: other, ..claim() }).refused(leased);
}

#[test]
fn an_expired_lease_alone_lets_nobody_in() {
    let late = Claim { at: LEASE_OVER, ..claim() };
    Given::running().when(late.clone()).refused(Refusal::Leased { until: LEASE_OVER });
    Given::running().after(given_up(1, Interruption::LeaseOver, Way::Requeued)).when(late).then([
        Event::Claimed {
            at: LEASE_OVER,
            attempt: Attempt { number: 2, side_effect: true },
            owner: owner(),
            lease_until: LEASE_OVER.plus(policy().lease),
        },
    ]);
}

#[test]
fn a_call_that_uses_up_its_attempts_ends_as_exhausted() {
    let twice = Given::recovered().when(claim()).then([claimed(2)]).after(given_up(
        2,
        Interruption::OwnerGone,
        Way::Requeued,
    ));
    let third = twice.when(claim()).then([claimed(3)]).is("running");
    let given_up_again = third.after(given_up(3, Interruption::OwnerGone, Way::Requeued)).is("pending");
    let error = failure("interrupted", "it ended without a report", true).exhausted(3);
    assert_eq!((error.code.as_str(), error.retryable), ("retry_exhausted", false));
    assert_eq!(error.cause.as_deref(), Some("interrupted"));
    given_up_again
        .when(claim())
        .then([Event::Failed { at: NOW, attempt: 3, error, by: Verdict::Server }])
        .is("final");
}

#[test]
fn a_call_is_not_claimed_before_its_due_time() {
    let due = NOW.plus(Duration::from_secs(60));
    let waiting =
        Given::failed_retryable().after(Event::RetryReset { at: NOW, due: Some(due), by: Verdict::Server });
    waiting.when(claim()).refused(Refusal::NotDue { due });
    let nearly = Timestamp::from_micros(due.as_micros() - 1);
    waiting.when(Claim { at: nearly, ..claim() }).refused(Refusal::NotDue { due });
    let (attempt, lease_until) = (Attempt { number: 2, side_effect: true }, due.plus(policy().lease));
    let claimed = Event::Claimed { at: due, attempt, owner: owner(), lease_until };
    waiting.when(Claim { at: due, ..claim() }).then([claimed]).is("running");
}

#[test]
fn the_due_time_comes_before_the_last_attempt() {
    let due = Some(LEASE_OVER);
    let waiting = Given::failed_retryable().after(Event::RetryReset { at: NOW, due, by: Verdict::Server });
    let no_attempt_left = Policy { max_attempts: 1, ..policy() };
    waiting.when(Claim { policy: no_attempt_left, ..claim() }).refused(Refusal::NotDue { due: LEASE_OVER });
}

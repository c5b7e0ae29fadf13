//! A running attempt is to be given up.

use callonce::domain::Refusal;
use callonce::domain::call::Failure;
use callonce::domain::command::Recover;
use callonce::domain::event::{Event, Interruption, Verdict, Way};
use callonce::domain::policy::Interrupted;
use callonce::domain::time::Timestamp;
use callonce::testing::given::*;

use super::states::calls;

const REPLAY: Option<Interrupted> = Some(Interrupted::Replay);
const UNSAFE: [Option<Interrupted>; 3] = [Some(Interrupted::Probe), Some(Interrupted::Hold), None];
const LOST: [Interruption; 2] = [Interruption::LeaseOver, Interruption::OwnerGone];
const ENDED: [Interruption; 3] =
    [Interruption::TimedOut, Interruption::Panicked, Interruption::OutcomeUnknown];

/// The server says that attempt 1 failed.
fn failed_by_server(at: Timestamp, error: Failure) -> Event {
    Event::Failed { at, attempt: 1, error, by: Verdict::Server }
}

#[test]
fn a_lost_attempt_that_may_be_replayed_waits_for_the_next_one() {
    for cause in LOST {
        Given::running()
            .when(recover(1, cause, REPLAY))
            .then([given_up(1, cause, Way::Requeued)])
            .is("pending")
            .when(claim())
            .then([claimed(2)]);
    }
}

#[test]
fn an_attempt_that_ended_without_proof_fails_with_its_own_word() {
    for cause in ENDED {
        Given::running()
            .when(recover(1, cause, REPLAY))
            .then([failed_by_server(NOW, failure(cause.as_str(), "interrupted", true))])
            .is("failed-retryable");
    }
}

#[test]
fn what_may_not_be_replayed_is_held() {
    for (cause, policy) in Interruption::ALL.iter().flat_map(|cause| UNSAFE.map(|policy| (*cause, policy))) {
        for max_attempts in [1, MAX_ATTEMPTS] {
            Given::running()
                .when(Recover { max_attempts, ..recover(1, cause, policy) })
                .then([given_up(1, cause, Way::Held)])
                .is("held")
                .when(claim())
                .refused(Refusal::Held);
        }
    }
}

#[test]
fn the_last_attempt_is_given_up_for_good() {
    for cause in LOST {
        let last = Recover { max_attempts: 1, ..recover(1, cause, REPLAY) };
        let error = failure(cause.as_str(), "interrupted", true).exhausted(1);
        assert_eq!((error.code.as_str(), error.cause.as_deref()), ("retry_exhausted", Some(cause.as_str())));
        Given::running()
            .when(last.clone())
            .then([given_up(1, cause, Way::Requeued), failed_by_server(last.at, error)])
            .is("final");
    }
    for cause in ENDED {
        let last = Recover { max_attempts: 1, ..recover(1, cause, REPLAY) };
        let error = failure(cause.as_str(), "interrupted", true).exhausted(1);
        Given::running().when(last).then([failed_by_server(NOW, error)]).is("final");
    }
}

#[test]
fn a_lease_is_over_at_its_last_instant_and_not_before() {
    let early = Timestamp::from_micros(LEASE_OVER.as_micros() - 1);
    for policy in [REPLAY, UNSAFE[0], UNSAFE[1], UNSAFE[2]] {
        let over = recover(1, Interruption::LeaseOver, policy);
        assert_eq!(over.at, LEASE_OVER);
        Given::running().when(Recover { at: early, ..over }).refused(Refusal::Leased { until: LEASE_OVER });
    }
}

#[test]
fn an_owner_that_is_gone_needs_no_lease_to_end() {
    let gone = recover(1, Interruption::OwnerGone, REPLAY);
    assert!(gone.at < LEASE_OVER);
    Given::running().when(gone).then([given_up(1, Interruption::OwnerGone, Way::Requeued)]).is("pending");
}

#[test]
fn a_newer_attempt_is_not_given_up_in_the_place_of_an_older_one() {
    let second = Given::recovered().when(claim()).then([claimed(2)]);
    for cause in Interruption::ALL {
        let refusal = Refusal::Stale { attempt: 1, current: 2 };
        second.when(recover(1, cause, REPLAY)).refused(refusal.clone());
        // Told first, even where the lease is not over either.
        second.when(Recover { at: NOW, ..recover(1, cause, REPLAY) }).refused(refusal);
    }
}

#[test]
fn where_nothing_runs_there_is_nothing_to_give_up() {
    for given in calls() {
        let idle = !["absent", "running"].contains(&given.call.state_name());
        for cause in Interruption::ALL.into_iter().filter(|_| idle) {
            given.when(recover(given.call.attempts(), cause, REPLAY)).nothing();
        }
    }
}

#[test]
fn giving_up_twice_gives_up_once() {
    let command = recover(1, Interruption::LeaseOver, REPLAY);
    let given_up =
        Given::running().when(command.clone()).then([given_up(1, Interruption::LeaseOver, Way::Requeued)]);
    given_up.when(command).nothing();
}

#[test]
fn a_completion_that_was_faster_wins() {
    let done = Given::running().when(succeed(1)).then([succeeded(1)]);
    done.when(recover(1, Interruption::LeaseOver, REPLAY)).nothing();
}

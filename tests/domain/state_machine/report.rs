//! An attempt reports how it ended.

use callonce::domain::Refusal;
use callonce::domain::call::Failure;
use callonce::domain::command::{Fail, Succeed};
use callonce::domain::event::{Event, Interruption, Verdict, Way};
use callonce::domain::json::Value;
use callonce::testing::given::*;

use super::states::calls;

fn stale(attempt: u32, current: u32) -> Refusal {
    Refusal::Stale { attempt, current }
}

/// A running call in its second attempt; the first one was given up and may still be under way.
fn second_attempt() -> Given {
    Given::recovered().when(claim()).then([claimed(2)])
}

#[test]
fn the_running_attempt_ends_its_call() {
    Given::running().when(succeed(1)).then([succeeded(1)]).is("final");
    Given::running().when(fail(1, declined())).then([failed(1, declined())]).is("final");
    Given::running().when(fail(1, refused())).then([failed(1, refused())]).is("failed-retryable");
}

#[test]
fn an_attempt_that_was_given_up_is_believed_until_the_next_one() {
    Given::recovered().when(succeed(1)).then([succeeded(1)]).is("final");
    Given::held().when(succeed(1)).then([succeeded(1)]).is("final");
    Given::held().when(fail(1, refused())).then([failed(1, refused())]).is("failed-retryable");
    second_attempt().when(succeed(1)).refused(stale(1, 2));
    second_attempt().when(fail(1, declined())).refused(stale(1, 2));
}

#[test]
fn the_name_of_the_worker_is_no_pass() {
    // Both attempts have the same owner; only the number tells them apart.
    second_attempt().when(succeed(1)).refused(stale(1, 2));
    second_attempt().when(succeed(2)).then([succeeded(2)]).is("final");
}

#[test]
fn a_late_failure_never_touches_a_success() {
    let done = second_attempt().when(succeed(2)).then([succeeded(2)]);
    done.when(fail(1, declined())).refused(stale(1, 2));
    done.when(fail(2, declined())).refused(stale(2, 2));
}

#[test]
fn a_late_success_never_touches_a_failure() {
    for given in [Given::failed(), Given::failed_retryable()] {
        given.when(succeed(1)).refused(stale(1, 1));
    }
    let tried_again = Given::failed_retryable().when(submit()).then([reset()]);
    tried_again.when(succeed(1)).refused(stale(1, 1));
}

#[test]
fn a_stale_attempt_is_refused_in_every_state() {
    for given in calls().into_iter().filter(|given| given.call.request().is_some()) {
        let current = given.call.attempts();
        for attempt in [current + 1, current + 2, u32::MAX].into_iter().chain(0..current) {
            given.when(succeed(attempt)).refused(stale(attempt, current));
            given.when(fail(attempt, declined())).refused(stale(attempt, current));
        }
    }
}

#[test]
fn the_same_end_once_more_is_done() {
    Given::succeeded().when(succeed(1)).nothing();
    Given::failed().when(fail(1, declined())).nothing();
    let last = Fail { max_attempts: 1, ..fail(1, refused()) };
    let exhausted = failed(1, refused().exhausted(1));
    Given::running().when(last.clone()).then([exhausted]).is("final").when(last).nothing();
}

#[test]
fn another_end_of_a_final_call_is_stale() {
    let other = Value::object([("charged", Value::from(1))]).canonical();
    Given::succeeded().when(Succeed { result: other, ..succeed(1) }).refused(stale(1, 1));
    Given::succeeded().when(Succeed { effect: None, ..succeed(1) }).refused(stale(1, 1));
    Given::failed().when(fail(1, refused())).refused(stale(1, 1));
    let message = "another message".into();
    Given::failed().when(fail(1, Failure { message, ..declined() })).refused(stale(1, 1));
}

#[test]
fn a_failure_that_can_be_retried_is_not_repeated() {
    // The call may have moved on to a new attempt and back in between, so the report says nothing about now.
    Given::failed_retryable().when(fail(1, refused())).refused(stale(1, 1));
}

#[test]
fn a_success_records_exactly_the_effect_it_owes() {
    for given in [Given::running(), Given::recovered(), Given::held()] {
        given.when(Succeed { effect: None, ..succeed(1) }).refused(Refusal::EffectMismatch { owed: true });
    }
    for given in calls() {
        let Some(open) = given.call.open_attempt().filter(|open| !open.side_effect) else { continue };
        let (attempt, effect) = (open.number, None);
        given.when(succeed(attempt)).refused(Refusal::EffectMismatch { owed: false });
        let without = Event::Succeeded { at: NOW, attempt, result: result(), effect, by: Verdict::Attempt };
        given.when(Succeed { effect, ..succeed(attempt) }).then([without]).is("final");
    }
}

#[test]
fn a_stale_attempt_is_told_so_whatever_its_effect() {
    second_attempt().when(Succeed { effect: None, ..succeed(1) }).refused(stale(1, 2));
}

#[test]
fn the_last_failure_that_could_be_retried_is_final_and_keeps_its_cause() {
    let third = second_attempt()
        .after(given_up(2, Interruption::OwnerGone, Way::Requeued))
        .when(claim())
        .then([claimed(3)]);
    let error = Failure {
        code: "retry_exhausted".into(),
        message: "all 3 attempts are used up; the last one: not now".into(),
        retryable: false,
        cause: Some("refused".into()),
    };
    third.when(fail(3, refused())).then([failed(3, error)]).is("final").when(submit()).nothing();
}

#[test]
fn a_failure_for_good_keeps_its_own_code_at_the_last_attempt() {
    let last = Fail { max_attempts: 1, ..fail(1, declined()) };
    Given::running().when(last).then([failed(1, declined())]).is("final");
}

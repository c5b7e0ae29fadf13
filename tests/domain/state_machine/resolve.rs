//! Somebody knows what became of a held call.

use callonce::domain::Refusal;
use callonce::domain::command::{Resolution, Resolve};
use callonce::domain::event::{Event, Verdict};
use callonce::testing::given::*;

fn succeeded_as_settled() -> Event {
    Event::Succeeded { at: NOW, attempt: 1, result: result(), effect: Some(effect()), by: settled() }
}

#[test]
fn what_happened_is_recorded_with_who_says_so_and_why() {
    let done = Given::held().when(resolve(happened())).then([succeeded_as_settled()]).is("final");
    done.when(submit()).nothing();
    let Verdict::Settled { who, evidence } = settled() else { panic!("it is a settlement") };
    assert_eq!((who.as_str(), evidence.as_str()), ("ada", "ledger"));
}

#[test]
fn what_did_not_happen_runs_again_as_the_next_attempt() {
    Given::held()
        .when(resolve(Resolution::NotHappened))
        .then([Event::RetryReset { at: NOW, due: None, by: settled() }])
        .is("pending")
        .when(claim())
        .then([claimed(2)]);
}

#[test]
fn the_settled_attempt_is_closed() {
    let again = Given::held().after(Event::RetryReset { at: NOW, due: None, by: settled() });
    again.when(succeed(1)).refused(Refusal::Stale { attempt: 1, current: 1 });
}

#[test]
fn what_did_not_happen_at_the_last_attempt_is_exhausted() {
    let error = failure("not_happened", "it was held and did not happen", true).exhausted(1);
    let last = Resolve { max_attempts: 1, ..resolve(Resolution::NotHappened) };
    Given::held().when(last).then([Event::Failed { at: NOW, attempt: 1, error, by: settled() }]).is("final");
}

#[test]
fn what_nobody_can_find_out_is_given_up_for_good() {
    let error = failure("abandoned", "given up while its outcome was unknown", false);
    Given::held()
        .when(resolve(Resolution::Abandon))
        .then([Event::Failed { at: NOW, attempt: 1, error, by: settled() }])
        .is("final")
        .when(submit())
        .nothing();
}

#[test]
fn a_settlement_records_the_effect_that_is_owed() {
    let without = Resolution::Happened { result: result(), effect: None };
    Given::held().when(resolve(without)).refused(Refusal::EffectMismatch { owed: true });
}

#[test]
fn only_a_held_call_is_settled() {
    let outcomes = || [happened(), Resolution::NotHappened, Resolution::Abandon];
    for outcome in outcomes() {
        Given::absent().when(resolve(outcome)).refused(Refusal::NotFound);
    }
    for given in [Given::pending(), Given::recovered(), Given::running(), Given::failed_retryable()] {
        for outcome in outcomes() {
            given.when(resolve(outcome)).refused(Refusal::NotHeld);
        }
    }
    for given in [Given::succeeded(), Given::failed()] {
        for outcome in outcomes() {
            given.when(resolve(outcome)).refused(Refusal::Final);
        }
    }
}

#[test]
fn the_attempts_own_word_may_come_before_the_settlement() {
    let done = Given::held().when(succeed(1)).then([succeeded(1)]).is("final");
    done.when(resolve(Resolution::NotHappened)).refused(Refusal::Final);
}

//! Histories that keep the promise, however odd: the checker accepts them.

use super::tale::{Tale, amount, pending, status, wish};
use crate::history::{Ask, Told};

/// Fails if the checker finds anything.
fn is_good(tale: &Tale) {
    assert_eq!(tale.judged(), vec![]);
}

#[test]
fn a_call_from_its_key_to_its_end() {
    let mut tale = Tale::new();
    let accepted = pending("charge", "a");
    tale.accepts(&accepted);
    tale.seen(&accepted.running());
    let done = accepted.running().succeeded(0);
    tale.seen(&done);
    tale.accepts(&done);
    let by_id = tale.sends(Ask::GetId { key: "a".into(), id: "c_a".into() });
    tale.shows(by_id, &done);
    is_good(&tale.ends(&[&done]));
}

#[test]
fn looks_at_one_time_may_be_answered_in_any_order() {
    let mut tale = Tale::new();
    let accepted = pending("charge", "a");
    tale.accepts(&accepted);
    let (early, late) = (tale.looks("a"), tale.looks("a"));
    let done = accepted.running().succeeded(0);
    tale.shows(late, &done);
    tale.shows(early, &accepted);
    is_good(&tale.ends(&[&done]));
}

#[test]
fn a_look_beside_the_first_request_may_find_nothing() {
    let mut tale = Tale::new();
    let accepted = pending("charge", "a");
    let post = tale.posts(&accepted.payload, "a");
    let look = tale.looks("a");
    tale.shows(post, &accepted);
    tale.refuses(look, 404);
    let done = accepted.running().succeeded(0);
    is_good(&tale.ends(&[&done]));
}

#[test]
fn a_request_that_was_cut_off_may_have_been_carried_out_or_not() {
    let mut tale = Tale::new();
    for key in ["a", "b"] {
        let op = tale.posts(&wish("charge", key), key);
        tale.cuts(op);
    }
    // One is not there, as nobody was ever told that it is, until it is sent again.
    let look = tale.looks("a");
    tale.refuses(look, 404);
    let (a, b) = (pending("charge", "a"), pending("charge", "b").running().succeeded(0));
    tale.seen(&b);
    tale.accepts(&a);
    is_good(&tale.ends(&[&a.running().succeeded(0), &b]));
}

#[test]
fn a_key_with_two_meanings_is_whose_came_first() {
    let mut tale = Tale::new();
    let accepted = pending("charge", "a");
    let (one, other) = (tale.posts(&amount("charge", "a", 6), "a"), tale.posts(&accepted.payload, "a"));
    tale.refuses(one, 409);
    tale.shows(other, &accepted);
    let again = tale.posts(&amount("charge", "a", 6), "a");
    tale.refuses(again, 409);
    is_good(&tale.ends(&[&accepted.running().succeeded(0)]));
}

#[test]
fn a_failed_call_is_tried_again_by_a_request_that_was_cut_off() {
    let mut tale = Tale::new();
    let accepted = pending("fail", "a");
    tale.accepts(&accepted);
    let again = tale.posts(&accepted.payload, "a");
    tale.cuts(again);
    let failed = accepted.running().failed(true);
    tale.seen(&failed);
    tale.seen(&failed.reset());
    let failed_again = failed.reset().running().failed(false);
    is_good(&tale.ends(&[&failed_again]));
}

#[test]
fn a_call_is_given_up_with_its_server_and_run_again() {
    let mut tale = Tale::new();
    let accepted = pending("ledger.keyed", "a");
    tale.accepts(&accepted);
    let running = accepted.running();
    tale.seen(&running);
    // Its downstream was asked twice, and applied it once.
    tale.books(&accepted, true);
    tale.books(&accepted, false);
    let again = running.at(3, 1, "pending");
    tale.seen(&again);
    is_good(&tale.ends(&[&again.running().succeeded(1)]));
}

#[test]
fn a_call_is_held_whether_its_effect_happened_or_not() {
    for happened in [true, false] {
        let mut tale = Tale::new();
        let accepted = pending("ledger.blind", "a");
        tale.accepts(&accepted);
        if happened {
            tale.books(&accepted, true);
        }
        is_good(&tale.ends(&[&accepted.running().held()]));
    }
}

#[test]
fn two_requests_for_one_call_of_which_one_made_it() {
    let mut tale = Tale::new();
    let accepted = pending("charge", "a");
    for replayed in [false, true] {
        let op = tale.posts(&accepted.payload, "a");
        tale.answers(op, Told { call: Some(accepted.clone()), replayed: Some(replayed), ..status(202) });
    }
    // Too busy, or out of space: nothing is promised then.
    for refusal in [429, 503, 507] {
        let op = tale.posts(&accepted.payload, "a");
        tale.refuses(op, refusal);
    }
    is_good(&tale.ends(&[&accepted.running().succeeded(0)]));
}

#[test]
fn a_key_that_nobody_sent_is_not_there() {
    let mut tale = Tale::new();
    let look = tale.looks("nobody");
    tale.refuses(look, 404);
    is_good(&tale.ends(&[]));
}

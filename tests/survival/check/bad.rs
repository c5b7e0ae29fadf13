//! Histories that break the promise in one way each: the checker refuses every one, with the rule that it breaks.

use super::Rule::{self, *};
use super::tale::{Tale, amount, pending, status, wish};
use crate::history::{Ask, Call, Stats, Told};

/// A call that was accepted, and its end.
fn charge(tale: &mut Tale) -> (Call, Call) {
    accepted(tale, "charge")
}

fn accepted(tale: &mut Tale, tool: &str) -> (Call, Call) {
    let accepted = pending(tool, "a");
    tale.accepts(&accepted);
    let done = accepted.running().succeeded(1);
    (accepted, done)
}

/// Fails unless the checker finds exactly these rules broken, and nothing once the history is made without the wrong.
fn breaks(rules: &[Rule], tell: impl Fn(&mut Tale) -> Vec<Call>) {
    let mut tale = Tale::new();
    let last = tell(&mut tale);
    let tale = tale.ends(&last.iter().collect::<Vec<_>>());
    assert_eq!(tale.broken(), rules, "{:?}", tale.judged());
}

#[test]
fn what_was_acknowledged_is_not_there() {
    for again in [
        Ask::GetKey { key: "a".into(), wait: 0 },
        Ask::GetId { key: "a".into(), id: "c_a".into() },
        // A look that waited, too.
        Ask::GetKey { key: "a".into(), wait: 1 },
    ] {
        breaks(&[Lost], |tale| {
            let (_, done) = charge(tale);
            let op = tale.sends(again.clone());
            tale.refuses(op, 404);
            vec![done]
        });
    }
}

#[test]
fn what_was_acknowledged_is_not_there_at_the_end() {
    let mut tale = Tale::new();
    charge(&mut tale);
    tale.settles();
    let look = tale.looks("a");
    tale.refuses(look, 404);
    tale.counts(Stats::default());
    assert_eq!(tale.broken(), [Lost]);
}

#[test]
fn what_a_look_showed_is_not_there() {
    breaks(&[Lost], |tale| {
        let done = pending("charge", "a").running().succeeded(0);
        // Its own answer was cut off, but then somebody saw it.
        let op = tale.posts(&done.payload, "a");
        tale.cuts(op);
        tale.seen(&done);
        let look = tale.looks("a");
        tale.refuses(look, 404);
        vec![done]
    });
}

#[test]
fn a_key_was_taken_by_another_request_and_is_free_again() {
    breaks(&[Lost], |tale| {
        let accepted = pending("charge", "a");
        let first = tale.posts(&accepted.payload, "a");
        tale.cuts(first);
        let other = tale.posts(&amount("charge", "a", 6), "a");
        tale.refuses(other, 409);
        let look = tale.looks("a");
        tale.refuses(look, 404);
        vec![accepted.running().succeeded(0)]
    });
}

#[test]
fn a_call_goes_back() {
    breaks(&[TakenBack], |tale| {
        let (accepted, done) = charge(tale);
        tale.seen(&done);
        tale.seen(&accepted.running());
        vec![done]
    });
}

#[test]
fn a_call_goes_back_at_the_end() {
    breaks(&[TakenBack], |tale| {
        let accepted = pending("fail", "a");
        tale.accepts(&accepted);
        let unknown = tale.posts(&accepted.payload, "a");
        tale.cuts(unknown);
        let failed = accepted.running().failed(true);
        tale.seen(&failed.reset());
        vec![failed]
    });
}

#[test]
fn one_version_is_two_things() {
    breaks(&[TakenBack], |tale| {
        let (accepted, done) = charge(tale);
        tale.seen(&accepted.running());
        tale.seen(&Call { attempt: 2, ..accepted.running() });
        vec![done]
    });
}

#[test]
fn a_result_changes_its_bytes() {
    breaks(&[TakenBack], |tale| {
        let (_, done) = charge(tale);
        let spaced = done.result.as_ref().map(|result| result.replace(':', ": "));
        tale.seen(&Call { result: spaced, ..done.clone() });
        vec![done]
    });
}

#[test]
fn the_end_was_not_the_end() {
    breaks(&[TakenBack], |tale| {
        let (_, done) = charge(tale);
        tale.seen(&done);
        vec![Call { version: 4, ..done }]
    });
}

#[test]
fn a_key_leads_to_two_calls() {
    breaks(&[TwoCalls], |tale| {
        let (_, done) = charge(tale);
        tale.accepts(&Call { id: "c_b".into(), ..done.clone() });
        vec![Call { id: "c_b".into(), ..done }]
    });
}

#[test]
fn a_call_has_two_keys() {
    breaks(&[Doubled, TwoCalls], |tale| {
        let (_, done) = charge(tale);
        let second = Call { id: "c_a".into(), ..pending("charge", "b") };
        tale.accepts(&second);
        // So it has one effect for the two.
        let result = done.result.clone();
        vec![Call { effect_id: done.effect_id.clone(), result, ..second.running().succeeded(0) }, done]
    });
}

#[test]
fn an_id_shows_the_call_of_another_key() {
    breaks(&[TakenBack, TwoCalls], |tale| {
        let (_, done) = charge(tale);
        let look = tale.sends(Ask::GetId { key: "a".into(), id: "c_a".into() });
        tale.shows(look, &Call { key: "b".into(), ..done.clone() });
        vec![done]
    });
}

#[test]
fn two_requests_both_made_one_call() {
    breaks(&[TwoCalls], |tale| {
        let accepted = pending("charge", "a");
        for _ in 0..2 {
            let op = tale.posts(&accepted.payload, "a");
            tale.answers(op, Told { call: Some(accepted.clone()), replayed: Some(false), ..status(202) });
        }
        vec![accepted.running().succeeded(0)]
    });
}

#[test]
fn a_retry_is_refused_as_another_request() {
    breaks(&[OtherRequest], |tale| {
        let (accepted, done) = charge(tale);
        let other = tale.posts(&amount("charge", "a", 6), "a");
        tale.refuses(other, 409);
        let retry = tale.posts(&accepted.payload, "a");
        tale.refuses(retry, 409);
        vec![done]
    });
}

#[test]
fn a_request_is_refused_before_anybody_sent_another() {
    breaks(&[OtherRequest], |tale| {
        let first = tale.posts(&amount("charge", "a", 6), "a");
        tale.refuses(first, 409);
        let (_, done) = charge(tale);
        vec![done]
    });
}

#[test]
fn another_request_is_answered_with_the_call() {
    breaks(&[OtherRequest], |tale| {
        let (_, done) = charge(tale);
        let other = tale.posts(&amount("charge", "a", 6), "a");
        tale.shows(other, &done);
        vec![done]
    });
}

#[test]
fn a_call_changes_what_it_is_to_do() {
    breaks(&[Missing, OtherRequest], |tale| {
        let (_, done) = charge(tale);
        vec![Call { payload: amount("charge", "a", 6), ..done }]
    });
}

#[test]
fn a_call_is_there_that_nobody_sent() {
    breaks(&[Unasked], |tale| {
        let done = pending("charge", "a").running().succeeded(0);
        tale.seen(&done);
        tale.accepts(&done);
        vec![done]
    });
    breaks(&[Unasked], |_| vec![pending("charge", "a").running().succeeded(0)]);
}

#[test]
fn a_failed_call_is_tried_again_by_nobody() {
    breaks(&[Unasked], |tale| {
        let accepted = pending("fail", "a");
        tale.accepts(&accepted);
        let failed = accepted.running().failed(true);
        tale.seen(&failed);
        vec![failed.reset().running().failed(false)]
    });
}

#[test]
fn a_call_takes_a_step_that_does_not_exist() {
    // Done without an attempt, pending to running without a claim, an attempt too many for its versions.
    for (version, attempt, status) in [(2, 1, "succeeded"), (3, 1, "running"), (2, 2, "running")] {
        breaks(&[Steps], |tale| {
            let (_, done) = charge(tale);
            let odd = done.at(version, attempt, status);
            let odd = match status {
                "running" => Call { is_final: false, result: None, effect_id: None, ..odd },
                _ => odd,
            };
            if status == "running" {
                tale.seen(&odd);
                return vec![Call { attempt, version: version + 1, ..done }];
            }
            vec![odd]
        });
    }
}

#[test]
fn an_attempt_number_goes_back() {
    breaks(&[Steps], |tale| {
        let (accepted, done) = charge(tale);
        tale.seen(&accepted.at(4, 2, "running"));
        vec![Call { version: 6, attempt: 1, ..done }]
    });
}

#[test]
fn a_state_does_not_fit_together() {
    for odd in [
        Call { result: Some("1".into()), ..pending("charge", "a").running() },
        Call { effect_id: Some("eff_a".into()), ..pending("charge", "a").running() },
        Call { status: "lost".into(), ..pending("charge", "a").running() },
        Call { is_final: true, ..pending("charge", "a").running().failed(true).reset() },
    ] {
        let mut tale = Tale::new();
        let (_, done) = charge(&mut tale);
        let op = tale.looks("a");
        tale.shows(op, &odd);
        let broken = tale.ends(&[&Call { version: odd.version + 1, ..done }]).broken();
        assert!(broken.contains(&Steps), "{odd:?}: {broken:?}");
    }
}

#[test]
fn an_effect_is_doubled() {
    for tool in ["ledger.keyed", "ledger.blind"] {
        breaks(&[Doubled], |tale| {
            let (_, done) = accepted(tale, tool);
            tale.books(&done, true);
            tale.books(&done, true);
            vec![done]
        });
    }
}

#[test]
fn an_effect_is_doubled_of_a_call_that_is_held() {
    breaks(&[Doubled], |tale| {
        let (accepted, _) = accepted(tale, "ledger.blind");
        tale.books(&accepted, true);
        tale.books(&accepted, true);
        vec![accepted.running().held()]
    });
}

#[test]
fn attempts_have_two_effect_ids() {
    breaks(&[Doubled], |tale| {
        let (_, done) = accepted(tale, "ledger.keyed");
        tale.books(&done, true);
        tale.books(&done, false);
        tale.book[1].effect_id = "eff_other".into();
        vec![done]
    });
}

#[test]
fn two_calls_have_one_effect() {
    breaks(&[Doubled], |tale| {
        let (_, done) = charge(tale);
        let second = pending("charge", "b");
        tale.accepts(&second);
        let result = done.result.clone();
        vec![Call { effect_id: done.effect_id.clone(), result, ..second.running().succeeded(0) }, done]
    });
}

#[test]
fn a_success_has_no_effect() {
    for tool in ["ledger.keyed", "ledger.blind"] {
        breaks(&[Missing], |tale| vec![accepted(tale, tool).1]);
    }
}

#[test]
fn a_result_names_another_effect() {
    breaks(&[Missing], |tale| {
        let (_, done) = accepted(tale, "ledger.keyed");
        tale.books(&done, true);
        tale.book[0].number = 2;
        vec![done]
    });
    for result in [r#"{"charged":6,"effect_id":"eff_a"}"#, r#"{"charged":5,"effect_id":"eff_b"}"#, "{}"] {
        breaks(&[Missing], |tale| {
            let (_, done) = charge(tale);
            vec![Call { result: Some(result.into()), ..done }]
        });
    }
}

#[test]
fn a_failure_hides_an_effect() {
    breaks(&[Missing], |tale| {
        let (accepted, _) = accepted(tale, "ledger.blind");
        tale.books(&accepted, true);
        vec![accepted.running().failed(true)]
    });
}

#[test]
fn the_downstream_is_asked_by_another_call() {
    breaks(&[TwoCalls], |tale| {
        let (_, done) = accepted(tale, "ledger.keyed");
        tale.books(&done, true);
        tale.book[0].call_id = "c_b".into();
        vec![done]
    });
}

#[test]
fn the_downstream_is_asked_for_what_nobody_sent() {
    breaks(&[Unasked], |tale| {
        tale.books(&pending("ledger.blind", "b"), true);
        vec![]
    });
    breaks(&[Missing, Unasked], |tale| {
        let (_, done) = accepted(tale, "ledger.keyed");
        tale.books(&done, true);
        tale.book[0].amount = 6;
        vec![done]
    });
}

#[test]
fn a_call_does_not_end() {
    breaks(&[Unended], |tale| vec![charge(tale).0]);
    breaks(&[Unended], |tale| vec![charge(tale).0.running()]);
}

#[test]
fn the_counters_count_something_else() {
    for stats in [
        Stats { calls: 2, effects: 1, held: 0 },
        Stats { calls: 1, effects: 2, held: 0 },
        Stats { calls: 1, effects: 1, held: 1 },
    ] {
        let mut tale = Tale::new();
        let (_, done) = charge(&mut tale);
        let mut tale = tale.ends(&[&done]);
        tale.counts(stats);
        assert_eq!(tale.broken(), [Miscounted]);
    }
}

#[test]
fn an_answer_is_of_no_kind_that_was_promised() {
    for (code, look) in [(500, false), (400, true), (404, false), (409, true), (301, true), (200, true)] {
        breaks(&[Answer], |tale| {
            let op = if look { tale.looks("a") } else { tale.posts(&wish("charge", "a"), "a") };
            tale.refuses(op, code);
            let (_, done) = charge(tale);
            vec![done]
        });
    }
}

#[test]
fn a_history_that_is_not_whole_shows_nothing() {
    let mut tale = Tale::new();
    let (_, done) = charge(&mut tale);
    assert_eq!(tale.broken(), [History], "no last look at all");
    let mut unlooked = tale.clone();
    unlooked.settles();
    unlooked.counts(Stats::default());
    assert_eq!(unlooked.broken(), [History], "no last look at the key");
    let mut uncounted = tale.clone();
    uncounted.settles();
    uncounted.seen(&done);
    assert_eq!(uncounted.broken(), [History], "no counters");
    let whole = tale.ends(&[&done]);
    let mut unsent = whole.clone();
    unsent.shows(99, &done);
    assert_eq!(unsent.broken(), [History], "an answer without a request");
    let mut twice = whole;
    let first = twice.lines[0].clone();
    twice.lines.extend([first.clone(), first]);
    assert_eq!(twice.broken(), [History], "one number for two requests");
}

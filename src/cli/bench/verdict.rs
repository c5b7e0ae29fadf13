//! Did the load double or lose anything? What the client was told, against what the server says it holds.

use super::counters::Growth;
use super::tally::Tally;
use crate::cli::exit::Exit;

/// Every way in which a law is broken, as a sentence.
///
/// `side_effect` says whether a success of the tool owes an effect, where that is known.
pub(super) fn broken(tally: &Tally, growth: &Growth, side_effect: Option<bool>) -> Vec<String> {
    let mut broken = Vec::new();
    let (made, acknowledged) = (tally.keys_made.cast_signed(), tally.keys_acknowledged.cast_signed());
    let owed = side_effect.map(|owes| if owes { growth.succeeded } else { 0 });
    if let Some(owed) = owed.filter(|owed| *owed != growth.effects) {
        let what = if growth.effects > owed { "an effect was doubled" } else { "an effect was lost" };
        broken.push(format!("{what}: {} effects, {owed} owed by calls that succeeded", growth.effects));
    }
    if growth.calls < acknowledged {
        broken.push(format!(
            "a call was lost: {acknowledged} keys were taken, {} calls are there",
            growth.calls
        ));
    }
    if growth.calls > made {
        broken
            .push(format!("a key led to two calls: {made} keys were sent, {} calls are there", growth.calls));
    }
    if tally.second_calls > 0 {
        broken
            .push(format!("{} answers named another call than their key led to before", tally.second_calls));
    }
    broken
}

/// What the command exits with: the worst of all that happened.
pub(super) fn exit(tally: &Tally, growth: &Growth, broken: &[String]) -> Exit {
    if !broken.is_empty() {
        Exit::Broken
    } else if tally.unknown > 0 || growth.open > 0 || growth.held > 0 {
        Exit::Open
    } else if tally.conflicts > 0 {
        Exit::Conflict
    } else if tally.refused > 0 {
        Exit::Usage
    } else if tally.not_taken > 0 {
        Exit::Retryable
    } else if growth.failed > 0 {
        Exit::Failed
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten keys sent and taken, ten calls done.
    fn ten() -> (Tally, Growth) {
        let tally = Tally { keys_made: 10, keys_acknowledged: 10, accepted: 10, ..Tally::new() };
        (tally, Growth { calls: 10, effects: 10, succeeded: 10, ..Growth::default() })
    }

    /// What is said and what is exited with, once `change` has happened.
    fn judged(side_effect: Option<bool>, change: impl FnOnce(&mut Tally, &mut Growth)) -> (String, Exit) {
        let (mut tally, mut growth) = ten();
        change(&mut tally, &mut growth);
        let broken = broken(&tally, &growth, side_effect);
        (broken.join("; "), exit(&tally, &growth, &broken))
    }

    #[test]
    fn each_broken_law_is_told_and_exits_with_6() {
        type Change = fn(&mut Tally, &mut Growth);
        let cases: [(&str, Change); 5] = [
            ("an effect was doubled: 11 effects, 10 owed", |_, growth| growth.effects = 11),
            ("an effect was lost: 9 effects, 10 owed", |_, growth| growth.effects = 9),
            ("a call was lost: 11 keys were taken, 10 calls", |tally, _| {
                (tally.keys_made, tally.keys_acknowledged) = (11, 11);
            }),
            ("a key led to two calls: 9 keys were sent, 10 calls", |tally, _| {
                (tally.keys_made, tally.keys_acknowledged) = (9, 9);
            }),
            ("1 answers named another call", |tally, _| tally.second_calls = 1),
        ];
        for (says, change) in cases {
            let (said, exit) = judged(Some(true), change);
            assert_eq!(exit, Exit::Broken, "{says}");
            assert!(said.starts_with(says), "{said}");
        }
    }

    #[test]
    fn a_tool_without_an_effect_owes_none_and_an_unknown_one_is_not_judged() {
        assert_eq!(judged(Some(false), |_, growth| growth.effects = 0), (String::new(), Exit::Done));
        assert_eq!(judged(Some(false), |_, growth| growth.effects = 1).1, Exit::Broken);
        assert_eq!(judged(None, |_, growth| growth.effects = 3), (String::new(), Exit::Done));
    }

    #[test]
    fn the_worst_decides() {
        type Change = fn(&mut Tally, &mut Growth);
        let cases: [(Exit, Change); 8] = [
            (Exit::Done, |_, _| {}),
            (Exit::Failed, |_, growth| (growth.succeeded, growth.effects, growth.failed) = (9, 9, 1)),
            (Exit::Retryable, |tally, _| tally.not_taken = 1),
            (Exit::Usage, |tally, _| (tally.refused, tally.not_taken) = (1, 1)),
            (Exit::Conflict, |tally, _| (tally.conflicts, tally.refused) = (1, 1)),
            (Exit::Open, |_, growth| (growth.succeeded, growth.effects, growth.open) = (9, 9, 1)),
            (Exit::Open, |_, growth| (growth.succeeded, growth.effects, growth.held) = (9, 9, 1)),
            // A request without an answer may have become a call, or not.
            (Exit::Open, |tally, _| (tally.keys_made, tally.unknown, tally.conflicts) = (11, 1, 1)),
        ];
        for (number, (exit, change)) in cases.into_iter().enumerate() {
            assert_eq!(judged(Some(true), change), (String::new(), exit), "case {number}");
        }
    }
}

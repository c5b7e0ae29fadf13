//! Any commands in any order: refused, or events that fold.

use std::time::Duration;

use super::Choices;
use super::events::{at, effect, failure, interruption, owner, request};
use crate::domain::call::Call;
use crate::domain::command::{Claim, Command, Fail, Recover, Resolution, Resolve, Retry, Submit, Succeed};
use crate::domain::decide::decide;
use crate::domain::evolve::evolve;
use crate::domain::json::parse;
use crate::domain::policy::{Interrupted, Policy};
use crate::domain::refusal::Refusal;

/// Every event that a command leads to is legal, what is final stays as it is, another request changes nothing, and no
/// more attempts are claimed than are allowed.
pub fn command_sequence(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut call = Call::Absent;
    while !choices.is_over() {
        let command = command(&mut choices);
        let decided = decide(&call, &command);
        let events = match &decided {
            Ok(events) => events.as_slice(),
            Err(refusal) => {
                let conflict = matches!(refusal, Refusal::IdempotencyConflict { .. });
                assert_eq!(conflict, is_other_request(&call, &command), "{command:?} on {call:?}");
                continue;
            }
        };
        assert!(!is_other_request(&call, &command), "{command:?} was let through on {call:?}");
        assert!(events.is_empty() || !call.is_final(), "{command:?} changes the final {call:?}");
        for event in events {
            call = evolve(&call, event).unwrap_or_else(|illegal| panic!("{command:?}: {illegal}"));
        }
        assert!(call.attempts() <= MAX_ATTEMPTS, "{call:?}");
    }
}

const MAX_ATTEMPTS: u32 = 3;

fn is_other_request(call: &Call, command: &Command) -> bool {
    match (call.request(), command) {
        (Some(known), Command::Submit(submit)) => known.fingerprint != submit.request.fingerprint,
        _ => false,
    }
}

fn command(choices: &mut Choices<'_>) -> Command {
    let kind = choices.below(7);
    let at = at(choices);
    let attempt = u32::from(choices.below(5));
    let max_attempts = MAX_ATTEMPTS;
    let interrupted =
        [Interrupted::Replay, Interrupted::Probe, Interrupted::Hold][usize::from(choices.below(3))];
    match kind {
        0 => Command::Submit(Submit { at, request: request(choices.below(2)) }),
        1 => Command::Claim(Claim {
            at,
            owner: owner(choices),
            policy: Policy {
                side_effect: choices.flag(),
                interrupted,
                time_limit: Duration::from_secs(5),
                lease: Duration::from_secs(10),
                max_attempts,
            },
        }),
        2 => {
            let result = parse(b"{}").expect("JSON").canonical();
            Command::Succeed(Succeed { at, attempt, result, effect: effect(choices) })
        }
        3 => Command::Fail(Fail { at, attempt, error: failure(choices), max_attempts }),
        4 => Command::Recover(Recover {
            at,
            attempt,
            cause: interruption(choices),
            message: String::new(),
            interrupted: choices.flag().then_some(interrupted),
            max_attempts,
        }),
        5 => Command::Retry(Retry { at, due: at.plus(Duration::from_secs(choices.below(3).into())) }),
        _ => {
            let outcome = match choices.below(3) {
                0 => Resolution::Happened {
                    result: parse(b"{}").expect("JSON").canonical(),
                    effect: effect(choices),
                },
                1 => Resolution::NotHappened,
                _ => Resolution::Abandon,
            };
            Command::Resolve(Resolve { at, outcome, who: "w".into(), evidence: "e".into(), max_attempts })
        }
    }
}

//! Any bytes as an event, and any events as a history.

use std::sync::Arc;

use super::Choices;
use crate::domain::call::{Attempt, Call, Effect, Failure, Request};
use crate::domain::event::{Event, Interruption, Verdict, Way};
use crate::domain::evolve::evolve;
use crate::domain::fingerprint::fingerprint;
use crate::domain::id::{CallId, IdemKey, Owner, ToolName};
use crate::domain::json::parse;
use crate::domain::time::Timestamp;
use crate::store::codec;

/// Bytes are refused, or they are an event that survives being written again.
pub fn event_frame(bytes: &[u8]) {
    let Ok(event) = codec::decode(bytes) else { return };
    let again = codec::encode(&event);
    assert_eq!(codec::decode(&again).as_ref(), Ok(&event));
}

/// Whatever order events come in, each is refused or leads to a lawful state: attempts never fall, what is final never
/// changes, an effect is there exactly if its attempt owed one.
pub fn replay(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut call = Call::Absent;
    while !choices.is_over() {
        let event = event(&mut choices);
        let Ok(next) = evolve(&call, &event) else { continue };
        assert!(!call.is_final(), "{event:?} changed the final {call:?}");
        assert!(next.attempts() >= call.attempts(), "{event:?} took attempts from {call:?}");
        assert_eq!(call.request().is_none(), matches!(event, Event::Created { .. }));
        if let Call::Succeeded { effect, .. } = &next {
            let owed = call.open_attempt().expect("somebody reported").side_effect;
            assert_eq!(effect.is_some(), owed, "{event:?} after {call:?}");
        }
        if matches!(next, Call::Running { .. }) {
            assert!(matches!(call, Call::Pending { .. }), "{event:?} ran {call:?}");
            assert_eq!(next.attempts(), call.attempts() + 1);
        }
        call = next;
    }
}

/// The one request that fuzzed histories are about.
pub(super) fn request(variant: u8) -> Arc<Request> {
    let args =
        parse(format!(r#"{{"amount":{}}}"#, u32::from(variant) + 1).as_bytes()).expect("JSON").canonical();
    Arc::new(Request {
        call_id: CallId::from_bytes([7; 16]),
        key: IdemKey::parse("k").expect("a key"),
        tool: ToolName::parse("charge").expect("a name"),
        fingerprint: fingerprint("charge", &args),
        args,
        client_id: None,
        seq: None,
        created_at: Timestamp::from_micros(0),
    })
}

pub(super) fn owner(choices: &mut Choices<'_>) -> Owner {
    Owner::parse(["a", "b"][usize::from(choices.below(2))]).expect("an owner")
}

pub(super) fn at(choices: &mut Choices<'_>) -> Timestamp {
    Timestamp::from_micros(i64::from(choices.byte()) * 1_000_000)
}

pub(super) fn effect(choices: &mut Choices<'_>) -> Option<Effect> {
    choices.flag().then_some(Effect { amount: Some(1) })
}

pub(super) fn failure(choices: &mut Choices<'_>) -> Failure {
    Failure { code: "x".into(), message: String::new(), retryable: choices.flag(), cause: None }
}

pub(super) fn interruption(choices: &mut Choices<'_>) -> Interruption {
    Interruption::ALL[usize::from(choices.below(5))]
}

fn verdict(choices: &mut Choices<'_>) -> Verdict {
    match choices.below(4) {
        0 => Verdict::Attempt,
        1 => Verdict::Client,
        2 => Verdict::Server,
        _ => Verdict::Settled { who: "w".into(), evidence: "e".into() },
    }
}

fn event(choices: &mut Choices<'_>) -> Event {
    let kind = choices.below(6);
    let at = at(choices);
    let attempt = u32::from(choices.below(4));
    match kind {
        0 => Event::Created { request: request(0) },
        1 => Event::Claimed {
            at,
            attempt: Attempt { number: attempt, side_effect: choices.flag() },
            owner: owner(choices),
            lease_until: self::at(choices),
        },
        2 => Event::Succeeded {
            at,
            attempt,
            result: parse(b"{}").expect("JSON").canonical(),
            effect: effect(choices),
            by: verdict(choices),
        },
        3 => Event::Failed { at, attempt, error: failure(choices), by: verdict(choices) },
        4 => Event::RetryReset { at, due: None, by: verdict(choices) },
        _ => Event::Recover {
            at,
            attempt,
            lost: owner(choices),
            cause: interruption(choices),
            way: if choices.flag() { Way::Requeued } else { Way::Held },
        },
    }
}

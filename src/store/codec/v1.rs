//! The bodies of schema version 1, and the only file that knows bincode.
//!
//! bincode 2.0.1 is finished and no longer maintained, so it is fenced in here, and a test reads the same bytes with a
//! second implementation of the encoding: integers as varints, signed ones zigzag, texts after their length, options and
//! enums after their number, members in order.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::MAX_EVENT_BYTES;
use super::frame::Kind;
use crate::domain::call::{Attempt, Effect, Failure, Request};
use crate::domain::event::{Event, Interruption, Verdict, Way};
use crate::domain::fingerprint::{self, Fingerprint};
use crate::domain::id::{CallId, ClientId, IdemKey, Owner, ToolName};
use crate::domain::json::Canonical;
use crate::domain::time::Timestamp;

/// The schema version of everything in this file.
pub(super) const VERSION: u8 = 1;

/// Texts are borrowed on the way in and out, so a length in the bytes never decides how much is allocated; the limit
/// stands behind that.
const CONFIG: bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<MAX_EVENT_BYTES>,
> = bincode::config::standard().with_limit::<MAX_EVENT_BYTES>();

#[derive(Serialize, Deserialize)]
struct CreatedV1<'a> {
    call_id: [u8; 16],
    key: &'a str,
    tool: &'a str,
    args: &'a str,
    scheme: u8,
    fingerprint: [u8; 32],
    #[serde(borrow)]
    client_id: Option<&'a str>,
    seq: Option<u64>,
    at: i64,
}

#[derive(Serialize, Deserialize)]
struct ClaimedV1<'a> {
    at: i64,
    attempt: u32,
    side_effect: bool,
    owner: &'a str,
    lease_until: i64,
}

#[derive(Serialize, Deserialize)]
struct SucceededV1<'a> {
    at: i64,
    attempt: u32,
    result: &'a str,
    effect: Option<EffectV1>,
    #[serde(borrow)]
    by: VerdictV1<'a>,
}

#[derive(Serialize, Deserialize)]
struct FailedV1<'a> {
    at: i64,
    attempt: u32,
    code: &'a str,
    message: &'a str,
    retryable: bool,
    #[serde(borrow)]
    cause: Option<&'a str>,
    #[serde(borrow)]
    by: VerdictV1<'a>,
}

#[derive(Serialize, Deserialize)]
struct RetryResetV1<'a> {
    at: i64,
    due: Option<i64>,
    #[serde(borrow)]
    by: VerdictV1<'a>,
}

#[derive(Serialize, Deserialize)]
struct RecoverV1<'a> {
    at: i64,
    attempt: u32,
    lost: &'a str,
    cause: InterruptionV1,
    way: WayV1,
}

#[derive(Serialize, Deserialize)]
struct EffectV1 {
    amount: Option<i64>,
}

#[derive(Serialize, Deserialize)]
enum VerdictV1<'a> {
    Attempt,
    Client,
    Server,
    Settled { who: &'a str, evidence: &'a str },
}

#[derive(Serialize, Deserialize)]
enum InterruptionV1 {
    LeaseOver,
    OwnerGone,
    TimedOut,
    Panicked,
    OutcomeUnknown,
}

#[derive(Serialize, Deserialize)]
enum WayV1 {
    Requeued,
    Held,
}

/// Appends the body of `event`.
pub(super) fn encode(event: &Event, out: &mut Vec<u8>) {
    match event {
        Event::Created { request } => put(out, CreatedV1::from(request.as_ref())),
        Event::Claimed { at, attempt, owner, lease_until } => {
            put(
                out,
                ClaimedV1 {
                    at: at.as_micros(),
                    attempt: attempt.number,
                    side_effect: attempt.side_effect,
                    owner: owner.as_str(),
                    lease_until: lease_until.as_micros(),
                },
            );
        }
        Event::Succeeded { at, attempt, result, effect, by } => {
            put(
                out,
                SucceededV1 {
                    at: at.as_micros(),
                    attempt: *attempt,
                    result: result.as_str(),
                    effect: effect.map(|effect| EffectV1 { amount: effect.amount }),
                    by: by.into(),
                },
            );
        }
        Event::Failed { at, attempt, error, by } => {
            put(
                out,
                FailedV1 {
                    at: at.as_micros(),
                    attempt: *attempt,
                    code: &error.code,
                    message: &error.message,
                    retryable: error.retryable,
                    cause: error.cause.as_deref(),
                    by: by.into(),
                },
            );
        }
        Event::RetryReset { at, due, by } => {
            put(out, RetryResetV1 { at: at.as_micros(), due: due.map(Timestamp::as_micros), by: by.into() });
        }
        Event::Recover { at, attempt, lost, cause, way } => {
            put(
                out,
                RecoverV1 {
                    at: at.as_micros(),
                    attempt: *attempt,
                    lost: lost.as_str(),
                    cause: (*cause).into(),
                    way: (*way).into(),
                },
            );
        }
    }
}

/// The event in `body`, or what is wrong with it.
pub(super) fn decode(kind: Kind, body: &[u8]) -> Result<Event, String> {
    Ok(match kind {
        Kind::Created => {
            let request = Request::try_from(take::<CreatedV1>(body)?)?;
            Event::Created { request: Arc::new(request) }
        }
        Kind::Claimed => {
            let ClaimedV1 { at, attempt, side_effect, owner, lease_until } = take(body)?;
            Event::Claimed {
                at: Timestamp::from_micros(at),
                attempt: Attempt { number: attempt, side_effect },
                owner: Owner::parse(owner).map_err(said)?,
                lease_until: Timestamp::from_micros(lease_until),
            }
        }
        Kind::Succeeded => {
            let SucceededV1 { at, attempt, result, effect, by } = take(body)?;
            Event::Succeeded {
                at: Timestamp::from_micros(at),
                attempt,
                result: Canonical::parse(result).map_err(said)?,
                effect: effect.map(|EffectV1 { amount }| Effect { amount }),
                by: by.into(),
            }
        }
        Kind::Failed => {
            let FailedV1 { at, attempt, code, message, retryable, cause, by } = take(body)?;
            Event::Failed {
                at: Timestamp::from_micros(at),
                attempt,
                error: Failure {
                    code: code.into(),
                    message: message.into(),
                    retryable,
                    cause: cause.map(str::to_owned),
                },
                by: by.into(),
            }
        }
        Kind::RetryReset => {
            let RetryResetV1 { at, due, by } = take(body)?;
            Event::RetryReset {
                at: Timestamp::from_micros(at),
                due: due.map(Timestamp::from_micros),
                by: by.into(),
            }
        }
        Kind::Recover => {
            let RecoverV1 { at, attempt, lost, cause, way } = take(body)?;
            Event::Recover {
                at: Timestamp::from_micros(at),
                attempt,
                lost: Owner::parse(lost).map_err(said)?,
                cause: cause.into(),
                way: way.into(),
            }
        }
    })
}

fn put(out: &mut Vec<u8>, body: impl Serialize) {
    bincode::serde::encode_into_std_write(body, out, CONFIG).expect("a Vec takes any plain struct");
}

/// Takes a whole body. One event has one encoding: bytes left over, and integers written longer than need be, are refused.
fn take<'a, T: Serialize + Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    let (value, read): (T, usize) = bincode::serde::borrow_decode_from_slice(body, CONFIG).map_err(said)?;
    if read != body.len() {
        return Err(format!("{} bytes are left over", body.len() - read));
    }
    let mut again = Vec::with_capacity(body.len());
    put(&mut again, &value);
    match again == body {
        true => Ok(value),
        false => Err("a number in it is written longer than it need be".into()),
    }
}

fn said(problem: impl std::fmt::Display) -> String {
    problem.to_string()
}

impl<'a> From<&'a Request> for CreatedV1<'a> {
    fn from(request: &'a Request) -> Self {
        Self {
            call_id: *request.call_id.as_bytes(),
            key: request.key.as_str(),
            tool: request.tool.as_str(),
            args: request.args.as_str(),
            scheme: fingerprint::SCHEME,
            fingerprint: *request.fingerprint.as_bytes(),
            client_id: request.client_id.as_ref().map(ClientId::as_str),
            seq: request.seq,
            at: request.created_at.as_micros(),
        }
    }
}

impl TryFrom<CreatedV1<'_>> for Request {
    type Error = String;

    fn try_from(created: CreatedV1<'_>) -> Result<Self, String> {
        if created.scheme != fingerprint::SCHEME {
            return Err(format!("its fingerprint has the unknown scheme {}", created.scheme));
        }
        Ok(Self {
            call_id: CallId::from_bytes(created.call_id),
            key: IdemKey::parse(created.key).map_err(said)?,
            tool: ToolName::parse(created.tool).map_err(said)?,
            args: Canonical::parse(created.args).map_err(said)?,
            fingerprint: Fingerprint::from_bytes(created.fingerprint),
            client_id: created.client_id.map(ClientId::parse).transpose().map_err(said)?,
            seq: created.seq,
            created_at: Timestamp::from_micros(created.at),
        })
    }
}

impl<'a> From<&'a Verdict> for VerdictV1<'a> {
    fn from(verdict: &'a Verdict) -> Self {
        match verdict {
            Verdict::Attempt => Self::Attempt,
            Verdict::Client => Self::Client,
            Verdict::Server => Self::Server,
            Verdict::Settled { who, evidence } => Self::Settled { who, evidence },
        }
    }
}

impl From<VerdictV1<'_>> for Verdict {
    fn from(verdict: VerdictV1<'_>) -> Self {
        match verdict {
            VerdictV1::Attempt => Self::Attempt,
            VerdictV1::Client => Self::Client,
            VerdictV1::Server => Self::Server,
            VerdictV1::Settled { who, evidence } => {
                Self::Settled { who: who.into(), evidence: evidence.into() }
            }
        }
    }
}

/// Both directions between two enums with the same variants.
macro_rules! same {
    ($domain:ident, $wire:ident, [$($variant:ident),+]) => {
        impl From<$domain> for $wire {
            fn from(value: $domain) -> Self {
                match value { $($domain::$variant => Self::$variant),+ }
            }
        }

        impl From<$wire> for $domain {
            fn from(value: $wire) -> Self {
                match value { $($wire::$variant => Self::$variant),+ }
            }
        }
    };
}

same!(Interruption, InterruptionV1, [LeaseOver, OwnerGone, TimedOut, Panicked, OutcomeUnknown]);
same!(Way, WayV1, [Requeued, Held]);

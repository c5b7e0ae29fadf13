//! How is it really done? Load, decide, append, with the rules and a store of the product, told in the reference's words.

use std::sync::Arc;

use callonce::domain::call::{Effect, Failure, Request};
use callonce::domain::command::{Claim, Fail, Recover, Resolution, Resolve, Retry, Submit, Succeed};
use callonce::domain::event::Interruption;
use callonce::domain::json::Canonical;
use callonce::domain::policy::{Interrupted, Policy};
use callonce::domain::{Call, Command, Event, Refusal, decide};
use callonce::store::{AppendError, Snapshot, Store};
use callonce::testing::random_calls::{at, owner, policy, request_with};
use futures_util::FutureExt as _;

use crate::reference::{Ask, LEASE, Outcome, Treated};

/// Who claims.
pub const WORKERS: [&str; 3] = ["worker-1", "worker-2", "worker-3"];
/// What tools answer.
pub const RESULTS: [&str; 3] = [r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":2}"#];
/// What is requested.
pub const VARIANTS: [(&str, &str); 3] =
    [("charge", r#"{"amount":1}"#), ("charge", r#"{"amount":2}"#), ("sleep", "{}")];

/// What came of it in a store: the outcome, the call after it, and how many versions were lost to somebody else.
pub struct Done {
    pub outcome: Outcome,
    pub after: Snapshot,
    pub conflicts: usize,
}

/// The request with this id under the key of this call.
pub fn request(call: usize, id: u64, variant: u8, now: i64) -> Arc<Request> {
    let (tool, args) = VARIANTS[usize::from(variant)];
    let request = request_with(id, &format!("key-{call}"), tool, args, Some(("model", id)));
    Arc::new(Request { created_at: at(now), ..(*request).clone() })
}

/// Carries it out, beginning with the call as `known` shows it, however old that is.
pub async fn carry_out<S: Store>(store: &S, known: Snapshot, call: usize, ask: &Ask, now: i64) -> Done {
    let mut before = known;
    for conflicts in 0..8 {
        let events = match decided(&before.call, call, ask, now) {
            Ok(events) if events.is_empty() => {
                return Done { outcome: Outcome::Nothing, after: before, conflicts };
            }
            Ok(events) => events,
            Err(refusal) => return Done { outcome: refused(&refusal), after: before, conflicts },
        };
        let names = events.iter().map(Event::name).collect();
        match store.append(&before, events).await {
            Ok(after) => return Done { outcome: Outcome::Events(names), after, conflicts },
            Err(AppendError::Conflict(current)) => before = *current,
            Err(AppendError::Store(error)) => panic!("the store failed: {error}"),
        }
    }
    panic!("nobody else appends, and eight versions were lost");
}

/// Decides on the call as it is, queues the append, and does not wait for it.
pub fn queue<S: Store>(store: &S, known: Snapshot, call: usize, ask: &Ask, now: i64) -> Done {
    let events = match decided(&known.call, call, ask, now) {
        Ok(events) if events.is_empty() => {
            return Done { outcome: Outcome::Nothing, after: known, conflicts: 0 };
        }
        Ok(events) => events,
        Err(refusal) => return Done { outcome: refused(&refusal), after: known, conflicts: 0 },
    };
    let (after, _) = known.apply_all(events.clone()).expect("what was decided can happen");
    let outcome = Outcome::Events(events.iter().map(Event::name).collect());
    if let Some(answer) = store.append(&known, events).now_or_never() {
        assert_eq!(answer.expect("nobody else appends"), after, "an answer that was there at once");
    }
    Done { outcome, after, conflicts: 0 }
}

/// What the rules decide.
pub fn decided(state: &Call, call: usize, ask: &Ask, now: i64) -> Result<Vec<Event>, Refusal> {
    decide(state, &command(call, ask, now))
}

fn command(call: usize, ask: &Ask, now: i64) -> Command {
    let at = at(now);
    let settle = |outcome, max_attempts| {
        let (who, evidence) = ("ops@example.org".into(), "looked it up".into());
        Command::Resolve(Resolve { at, outcome, who, evidence, max_attempts })
    };
    match ask {
        Ask::Submit { id, variant } => {
            Command::Submit(Submit { at, request: request(call, *id, *variant, now) })
        }
        Ask::Claim { worker, side_effect, max } => {
            let policy = policy(*side_effect, Interrupted::Replay);
            assert_eq!(policy.lease.as_secs(), LEASE.cast_unsigned(), "the reference knows the lease");
            let policy = Policy { max_attempts: *max, ..policy };
            Command::Claim(Claim { at, owner: owner(WORKERS[usize::from(*worker)]), policy })
        }
        Ask::Succeed { attempt, result, effect } => Command::Succeed(Succeed {
            at,
            attempt: *attempt,
            result: answer(*result),
            effect: effect.map(|amount| Effect { amount }),
        }),
        Ask::Fail { attempt, code, retryable, max } => {
            let message = "the tool says so".into();
            let error = Failure { code: (*code).into(), message, retryable: *retryable, cause: None };
            Command::Fail(Fail { at, attempt: *attempt, error, max_attempts: *max })
        }
        Ask::Recover { attempt, cause, treated, max } => Command::Recover(Recover {
            at,
            attempt: *attempt,
            cause: Interruption::parse(cause).expect("a cause"),
            message: "nobody knows".into(),
            interrupted: match treated {
                Treated::Replay => Some(Interrupted::Replay),
                Treated::Probe => Some(Interrupted::Probe),
                Treated::Hold => Some(Interrupted::Hold),
                Treated::NotConfigured => None,
            },
            max_attempts: *max,
        }),
        Ask::Happened { result, effect } => {
            let effect = effect.map(|amount| Effect { amount });
            settle(Resolution::Happened { result: answer(*result), effect }, 0)
        }
        Ask::NotHappened { max } => settle(Resolution::NotHappened, *max),
        Ask::Abandon => settle(Resolution::Abandon, 0),
        Ask::PutOff { seconds } => Command::Retry(Retry { at, due: self::at(now + seconds) }),
    }
}

fn answer(result: u8) -> Canonical {
    Canonical::parse(RESULTS[usize::from(result)]).expect("it is canonical")
}

fn refused(refusal: &Refusal) -> Outcome {
    let (name, number) = match refusal {
        Refusal::NotFound => ("not_found", 0),
        Refusal::IdempotencyConflict { paths } => {
            assert!(!paths.is_empty(), "a conflict names what differs");
            ("idempotency_conflict", 0)
        }
        Refusal::Stale { current, .. } => ("stale", i64::from(*current)),
        Refusal::Final => ("final", 0),
        Refusal::Held => ("held", 0),
        Refusal::Leased { until } => ("leased", seconds(*until)),
        Refusal::NotPending => ("not_pending", 0),
        Refusal::NotDue { due } => ("not_due", seconds(*due)),
        Refusal::NotHeld => ("not_held", 0),
        Refusal::EffectMismatch { owed } => ("effect_mismatch", i64::from(*owed)),
    };
    Outcome::Refused(name, number)
}

/// The second of the test's day.
pub fn seconds(instant: callonce::domain::time::Timestamp) -> i64 {
    (instant.as_micros() - at(0).as_micros()) / 1_000_000
}

//! The fold: a call and an event give the next call. Total; what is illegal is an error, never skipped.

use super::call::{Attempt, Call, Effect};
use super::event::{Event, Verdict, Way};

/// An event that cannot have happened in the state before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{event}` cannot follow in the state {state}: {rule}")]
pub struct IllegalEvent {
    /// The event's name.
    pub event: &'static str,
    /// The state's name.
    pub state: &'static str,
    /// Which rule it breaks.
    pub rule: &'static str,
}

/// The call after `event`.
///
/// # Errors
/// [`IllegalEvent`] if `event` cannot have happened to `call` (law L7).
pub fn evolve(call: &Call, event: &Event) -> Result<Call, IllegalEvent> {
    let illegal = |rule| IllegalEvent { event: event.name(), state: call.state_name(), rule };
    match event {
        Event::Created { request } => created(call, request).map_err(illegal),
        Event::Claimed { attempt, owner, lease_until, .. } => match call {
            Call::Pending { request, attempts, .. } if attempts.checked_add(1) == Some(attempt.number) => {
                Ok(Call::Running {
                    request: request.clone(),
                    attempt: *attempt,
                    owner: owner.clone(),
                    lease_until: *lease_until,
                })
            }
            Call::Pending { .. } => Err(illegal("attempts are counted one by one")),
            Call::Absent
            | Call::Running { .. }
            | Call::Held { .. }
            | Call::Succeeded { .. }
            | Call::Failed { .. } => Err(illegal("only a pending call is claimed")),
        },
        Event::Succeeded { attempt, result, effect, by, .. } => {
            let open = reporter(call, *attempt, by).map_err(illegal)?;
            owed(open, *effect).map_err(illegal)?;
            let request = call.request().ok_or_else(|| illegal("there is no call"))?.clone();
            Ok(Call::Succeeded { request, attempts: *attempt, result: result.clone(), effect: *effect })
        }
        Event::Failed { attempt, error, by, .. } => {
            failing(call, *attempt, error.retryable, by).map_err(illegal)?;
            let request = call.request().ok_or_else(|| illegal("there is no call"))?.clone();
            Ok(Call::Failed { request, attempts: *attempt, error: error.clone() })
        }
        Event::RetryReset { due, by, .. } => match (call, by) {
            (Call::Failed { request, attempts, error }, Verdict::Client | Verdict::Server)
                if error.retryable =>
            {
                Ok(Call::Pending { request: request.clone(), attempts: *attempts, open: None, due: *due })
            }
            (Call::Held { request, attempt, .. }, Verdict::Settled { .. }) => Ok(Call::Pending {
                request: request.clone(),
                attempts: attempt.number,
                open: None,
                due: *due,
            }),
            _ => Err(illegal(
                "only a failed call that may be retried, or a held one that was settled, is reset",
            )),
        },
        Event::Recover { at, attempt: lost, cause, way, .. } => match (call, way) {
            (Call::Running { attempt, .. }, _) if attempt.number != *lost => {
                Err(illegal("only the current attempt is given up"))
            }
            (Call::Running { request, attempt, .. }, Way::Requeued) => Ok(Call::Pending {
                request: request.clone(),
                attempts: attempt.number,
                open: Some(*attempt),
                due: None,
            }),
            (Call::Running { request, attempt, .. }, Way::Held) => {
                Ok(Call::Held { request: request.clone(), attempt: *attempt, since: *at, reason: *cause })
            }
            _ => Err(illegal("only a running attempt is given up")),
        },
    }
}

/// The call after all of `events`.
///
/// # Errors
/// As for [`evolve`], at the first event that cannot have happened.
pub fn evolve_all(call: &Call, events: &[Event]) -> Result<Call, IllegalEvent> {
    events.iter().try_fold(call.clone(), |call, event| evolve(&call, event))
}

fn created(call: &Call, request: &std::sync::Arc<super::call::Request>) -> Result<Call, &'static str> {
    match call {
        Call::Absent => Ok(Call::Pending { request: request.clone(), attempts: 0, open: None, due: None }),
        Call::Pending { .. }
        | Call::Running { .. }
        | Call::Held { .. }
        | Call::Succeeded { .. }
        | Call::Failed { .. } => Err("a key leads to one call, forever"),
    }
}

/// The open attempt that an outcome is recorded for.
fn reporter(call: &Call, attempt: u32, by: &Verdict) -> Result<Attempt, &'static str> {
    let open = call
        .open_attempt()
        .filter(|open| open.number == attempt)
        .ok_or("only the call's open attempt can finish it")?;
    match (by, call) {
        (Verdict::Attempt, _) | (Verdict::Settled { .. }, Call::Held { .. }) => Ok(open),
        (Verdict::Settled { .. }, _) => Err("only a held call is settled"),
        (Verdict::Client | Verdict::Server, _) => {
            Err("only an attempt or a settlement says that it happened")
        }
    }
}

fn owed(open: Attempt, effect: Option<Effect>) -> Result<(), &'static str> {
    match open.side_effect == effect.is_some() {
        true => Ok(()),
        false => Err("a success has an effect exactly if its tool has a side effect"),
    }
}

/// Whether a failure may be recorded: by its attempt, by a settlement, or by the server, which ends running attempts
/// it knows to be over and pending calls that have no attempt left.
fn failing(call: &Call, attempt: u32, retryable: bool, by: &Verdict) -> Result<(), &'static str> {
    match (by, call) {
        (Verdict::Settled { .. }, _) if retryable => Err("a settlement that fails a call fails it for good"),
        (Verdict::Attempt | Verdict::Settled { .. }, _) => reporter(call, attempt, by).map(drop),
        (Verdict::Server, Call::Running { attempt: running, .. }) if running.number == attempt => Ok(()),
        (Verdict::Server, Call::Pending { attempts, .. }) if *attempts == attempt && !retryable => Ok(()),
        (Verdict::Server, _) => Err("the server fails only what runs, or what waits with no attempt left"),
        (Verdict::Client, _) => Err("a client cannot fail a call"),
    }
}

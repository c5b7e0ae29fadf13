//! Calls, and what may happen to them: by hand for a story, or at random from a seed.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::call::{Call, Effect, Failure, Request};
use crate::domain::command::{Claim, Command, Fail, Recover, Resolution, Resolve, Submit, Succeed};
use crate::domain::decide::decide;
use crate::domain::event::{Event, Interruption, Verdict};
use crate::domain::fingerprint::fingerprint;
use crate::domain::id::{CallId, ClientId, IdemKey, Owner, ToolName};
use crate::domain::json::Canonical;
use crate::domain::policy::{Interrupted, Policy};
use crate::domain::time::Timestamp;

/// How long a claim lasts here, in seconds.
pub const LEASE_SECONDS: i64 = 30;
/// How many attempts a call has here.
pub const MAX_ATTEMPTS: u32 = 4;

/// An instant of the tests' day: `seconds` after its start, and an odd number of microseconds so that rounding shows.
pub const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_764_547_200_123_457 + seconds * 1_000_000)
}

/// Request number `n`: its key is `key-n`, and its id sorts as `n` does.
pub fn request(n: u64) -> Arc<Request> {
    request_with(n, &format!("key-{n}"), "charge", &format!(r#"{{"amount":{n}}}"#), None)
}

/// Request number `n`, in full; `client` is who sent it.
pub fn request_with(n: u64, key: &str, tool: &str, args: &str, client: Option<(&str, u64)>) -> Arc<Request> {
    let mut id = [0x0a; 16];
    id[8..].copy_from_slice(&n.to_be_bytes());
    let args = Canonical::parse(args).expect("tests write canonical args");
    Arc::new(Request {
        call_id: CallId::from_bytes(id),
        key: IdemKey::parse(key).expect("tests write valid keys"),
        tool: ToolName::parse(tool).expect("tests write valid names"),
        fingerprint: fingerprint(tool, &args),
        args,
        client_id: client.map(|(id, _)| ClientId::parse(id).expect("tests write valid names")),
        seq: client.map(|(_, seq)| seq),
        created_at: at(i64::try_from(n).expect("tests count in small numbers")),
    })
}

/// What a worker called `name` is to the log.
pub fn owner(name: &str) -> Owner {
    Owner::parse(name).expect("tests write valid names")
}

/// A tool's terms: with a side effect or not, and what an interruption means.
pub fn policy(side_effect: bool, interrupted: Interrupted) -> Policy {
    Policy {
        side_effect,
        interrupted,
        time_limit: Duration::from_secs(25),
        lease: Duration::from_secs(LEASE_SECONDS as u64),
        max_attempts: MAX_ATTEMPTS,
    }
}

/// The events that a command leads to; a refusal fails the test.
pub fn decided(call: &Call, command: Command) -> Vec<Event> {
    decide(call, &command).expect("the test asks for what is allowed")
}

/// A request arrives at its own instant.
pub fn submit(request: &Arc<Request>) -> Command {
    Command::Submit(Submit { at: request.created_at, request: request.clone() })
}

/// A worker claims for a tool with a side effect.
pub fn claim(seconds: i64, worker: &str) -> Command {
    let policy = policy(true, Interrupted::Replay);
    Command::Claim(Claim { at: at(seconds), owner: owner(worker), policy })
}

/// Attempt `attempt` of a tool with a side effect succeeds.
pub fn succeed(seconds: i64, attempt: u32) -> Command {
    Command::Succeed(Succeed {
        at: at(seconds),
        attempt,
        result: Canonical::parse(r#"{"charged":7,"note":"żółć 🦀"}"#).expect("it is canonical"),
        effect: Some(Effect { amount: Some(7) }),
    })
}

/// Attempt `attempt` fails.
pub fn fail(seconds: i64, attempt: u32, retryable: bool) -> Command {
    let (code, message) = ("declined".into(), "card \"4242\"\n\u{1} said no".into());
    let error = Failure { code, message, retryable, cause: None };
    Command::Fail(Fail { at: at(seconds), attempt, error, max_attempts: MAX_ATTEMPTS })
}

/// Attempt `attempt` is given up because its owner is gone.
pub fn recover(seconds: i64, attempt: u32, interrupted: Interrupted) -> Command {
    Command::Recover(Recover {
        at: at(seconds),
        attempt,
        cause: Interruption::OwnerGone,
        message: "its owner is gone".into(),
        interrupted: Some(interrupted),
        max_attempts: MAX_ATTEMPTS,
    })
}

/// A held call did not happen, says somebody.
pub fn not_happened(seconds: i64) -> Command {
    Command::Resolve(Resolve {
        at: at(seconds),
        outcome: Resolution::NotHappened,
        who: "ops@example.org".into(),
        evidence: "looked it up".into(),
        max_attempts: MAX_ATTEMPTS,
    })
}

/// A failed call is to run again, but not before `due`.
pub fn retry_at(seconds: i64, due: i64) -> Event {
    Event::RetryReset { at: at(seconds), due: Some(at(due)), by: Verdict::Server }
}

/// A small generator of chances: the same seed gives the same run, on every machine.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `below` (SplitMix64).
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).expect("a slice's length fits")]
    }
}

/// Something that may happen to `call` at this second, if chance finds it: legal events, or none where it was refused.
pub fn happening(chance: &mut Chance, call: &Call, seconds: i64) -> Vec<Event> {
    let now = at(seconds);
    let attempt = call.attempts();
    let side_effect = call.open_attempt().is_some_and(|open| open.side_effect);
    let effect = side_effect.then(|| Effect { amount: chance.pick(&[None, Some(7), Some(-1)]) });
    let result = || Canonical::parse(r#"{"ok":true}"#).expect("it is canonical");
    if let (Call::Failed { error, .. }, 0) = (call, chance.below(2))
        && error.retryable
    {
        return vec![retry_at(seconds, seconds + 5)];
    }
    let terms = policy(chance.below(3) > 0, Interrupted::Replay);
    let command = match (call, chance.below(6)) {
        (Call::Pending { .. }, 0..5) => {
            let owner = owner(chance.pick(&["worker-1", "worker-2"]));
            Command::Claim(Claim { at: now, owner, policy: terms })
        }
        (Call::Running { .. }, 0) => recover(seconds, attempt, Interrupted::Replay),
        (Call::Running { .. }, 1) => recover(seconds, attempt, Interrupted::Hold),
        (Call::Held { .. }, 0 | 1) => not_happened(seconds),
        (Call::Held { .. }, 2) => Command::Resolve(Resolve {
            at: now,
            outcome: Resolution::Happened { result: result(), effect },
            who: "probe".into(),
            evidence: "the downstream has it".into(),
            max_attempts: MAX_ATTEMPTS,
        }),
        (Call::Failed { .. }, _) => match call.request() {
            Some(request) => Command::Submit(Submit { at: now, request: request.clone() }),
            None => return vec![],
        },
        (_, 2 | 3) => fail(seconds, attempt, chance.below(3) > 0),
        _ => Command::Succeed(Succeed { at: now, attempt, result: result(), effect }),
    };
    decide(call, &command).unwrap_or_default()
}

//! Many finished calls, for measuring what a full database costs. `examples/many_calls.rs` writes them to a file.

use std::ops::Range;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};

use super::random_calls::{Chance, at, claim, decided, fail, policy, recover, request_with, submit};
use crate::domain::call::{Effect, Request};
use crate::domain::command::{Claim, Command, Succeed};
use crate::domain::id::Owner;
use crate::domain::json::Canonical;
use crate::domain::policy::Interrupted;
use crate::store::record::Snapshot;
use crate::store::{AppendError, Store};

/// Calls that are under way at once: full batches for a store that commits in groups.
const AT_ONCE: usize = 512;

/// Appends the calls with these numbers and brings each to its end.
///
/// Nearly all succeed at the first attempt with an effect, in three events; of each twenty, one has no effect, one fails for
/// good, one fails and is tried again, and one is recovered and runs a second time. Keys are random, as clients make them, and
/// the same numbers make the same calls.
///
/// # Errors
/// The first that the store has.
pub async fn fill<S: Store>(store: &S, numbers: Range<u64>) -> Result<(), AppendError> {
    let mut calls = stream::iter(numbers).map(|n| finished(store, n)).buffer_unordered(AT_ONCE);
    while let Some(done) = calls.next().await {
        done?;
    }
    Ok(())
}

async fn finished<S: Store>(store: &S, n: u64) -> Result<(), AppendError> {
    let mut chance = Chance::new(n);
    let key = format!("{:016x}{:016x}", chance.below(u64::MAX), chance.below(u64::MAX));
    let seconds = i64::try_from(n / 1_000).unwrap_or(i64::MAX);
    let (tool, args) = match n % 20 {
        0 => ("sleep", r#"{"seconds":0}"#.to_string()),
        _ => {
            let (amount, order) = (chance.below(100_000) + 1, chance.below(1 << 40));
            ("charge", format!(r#"{{"amount":{amount},"currency":"eur","order_id":"order-{order}"}}"#))
        }
    };
    let client = format!("agent-{}", chance.below(1_000));
    let request = request_with(n, &key, tool, &args, Some((client.as_str(), n)));
    let mut call = does(store, &Snapshot::absent(), submit(&request)).await?;
    match n % 20 {
        1 => {
            call = does(store, &call, claim(seconds, "worker-1")).await?;
            does(store, &call, fail(seconds + 1, 1, false)).await?;
            return Ok(());
        }
        2 => {
            call = does(store, &call, claim(seconds, "worker-1")).await?;
            call = does(store, &call, fail(seconds + 1, 1, true)).await?;
            call = does(store, &call, submit(&request)).await?;
        }
        3 => {
            call = does(store, &call, claim(seconds, "worker-1")).await?;
            call = does(store, &call, recover(seconds + 31, 1, Interrupted::Replay)).await?;
        }
        _ => {}
    }
    let attempt = call.call.attempts() + 1;
    call = does(store, &call, claims(seconds + 40, tool == "charge")).await?;
    does(store, &call, succeeds(&request, seconds + 41, attempt)).await?;
    Ok(())
}

async fn does<S: Store>(store: &S, before: &Snapshot, command: Command) -> Result<Snapshot, AppendError> {
    store.append(before, decided(&before.call, command)).await
}

fn claims(seconds: i64, side_effect: bool) -> Command {
    Command::Claim(Claim {
        at: at(seconds),
        owner: Owner::parse("pid:4242 boot:0198f0a4c1d27c3e").expect("it is a name"),
        policy: policy(side_effect, Interrupted::Replay),
    })
}

fn succeeds(request: &Arc<Request>, seconds: i64, attempt: u32) -> Command {
    let charges = request.tool.as_str() == "charge";
    let result = match charges {
        true => format!(r#"{{"charged":1,"effect_id":"{}"}}"#, request.effect_id()),
        false => r#"{"slept":0}"#.into(),
    };
    Command::Succeed(Succeed {
        at: at(seconds),
        attempt,
        result: Canonical::parse(&result).expect("it is canonical"),
        effect: charges.then_some(Effect { amount: Some(1) }),
    })
}

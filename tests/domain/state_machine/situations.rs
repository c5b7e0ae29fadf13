//! The rows of the tables: for each situation the commands that make it, given a call.

use std::sync::Arc;

use callonce::domain::call::{Call, Effect, Failure};
use callonce::domain::command::{Claim, Command, Fail, Recover, Resolution, Resolve, Submit, Succeed};
use callonce::domain::event::Interruption;
use callonce::domain::json::Value;
use callonce::domain::policy::{Interrupted, Policy};
use callonce::domain::time::Timestamp;
use callonce::testing::given::*;

/// A row of a table. The commands must all be answered alike; none means that the situation cannot arise.
pub struct Situation {
    pub table: &'static str,
    pub row: &'static str,
    pub commands: fn(&Call) -> Vec<Command>,
}

type Row = (&'static str, &'static str, fn(&Call) -> Vec<Command>);

/// Every row of every table.
pub fn situations() -> Vec<Situation> {
    let rows: [Row; 27] = [
        ("submit", "the same request", |_| vec![submit().into()]),
        ("submit", "another request", |_| {
            vec![Submit { request: Arc::new(other_request()), ..submit() }.into()]
        }),
        ("claim", "an attempt is left", |call| vec![claim_with(call.attempts() + 1).into()]),
        ("claim", "no attempt is left", |call| match call.attempts() {
            0 => vec![],
            attempts => vec![claim_with(attempts).into()],
        }),
        ("claim", "before its due time", |call| {
            let Call::Pending { due: Some(due), .. } = call else { return vec![] };
            let early = Timestamp::from_micros(due.as_micros() - 1);
            vec![Claim { at: early, ..claim() }.into()]
        }),
        ("succeed", "the latest attempt", |call| vec![success(call).into()]),
        ("succeed", "the latest attempt, with an effect where none is owed, or without", |call| {
            let effect = mismatch(call);
            vec![Succeed { effect, ..success(call) }.into()]
        }),
        ("succeed", "the recorded success once more", |call| {
            let Call::Succeeded { attempts: attempt, result, effect, .. } = call.clone() else {
                return vec![];
            };
            vec![Succeed { at: NOW, attempt, result, effect }.into()]
        }),
        ("succeed", "any other attempt", |call| {
            others(call).map(|attempt| Succeed { attempt, ..success(call) }.into()).to_vec()
        }),
        ("fail", "the latest attempt, may be retried", |call| {
            vec![fail(latest(call), elsewise(refused())).into()]
        }),
        ("fail", "the latest attempt, may be retried, no attempt is left", |call| {
            let max_attempts = latest(call);
            vec![Fail { max_attempts, ..fail(latest(call), elsewise(refused())) }.into()]
        }),
        ("fail", "the latest attempt, for good", |call| {
            vec![fail(latest(call), elsewise(declined())).into()]
        }),
        ("fail", "the recorded failure once more", |call| {
            let Call::Failed { attempts, error, .. } = call else { return vec![] };
            vec![fail(*attempts, error.clone()).into()]
        }),
        ("fail", "any other attempt", |call| {
            others(call)
                .into_iter()
                .flat_map(|attempt| [fail(attempt, refused()).into(), fail(attempt, declined()).into()])
                .collect()
        }),
        ("recover", "`replay`, lost from sight", |call| given_up_with(call, LOST, &REPLAY, MAX_ATTEMPTS)),
        ("recover", "`replay`, lost from sight, no attempt is left", |call| {
            given_up_with(call, LOST, &REPLAY, latest(call))
        }),
        ("recover", "`replay`, ended without proof", |call| {
            given_up_with(call, ENDED, &REPLAY, MAX_ATTEMPTS)
        }),
        ("recover", "`replay`, ended without proof, no attempt is left", |call| {
            given_up_with(call, ENDED, &REPLAY, latest(call))
        }),
        ("recover", "`probe`, `hold` or not configured", |call| {
            [MAX_ATTEMPTS, latest(call)]
                .into_iter()
                .flat_map(|max| given_up_with(call, &Interruption::ALL, &UNSAFE, max))
                .collect()
        }),
        ("recover", "the lease is not over", |call| {
            let early = Timestamp::from_micros(LEASE_OVER.as_micros() - 1);
            let over = |policy| recover(latest(call), Interruption::LeaseOver, policy);
            ALL_POLICIES.map(|policy| Recover { at: early, ..over(policy) }.into()).into()
        }),
        ("recover", "any other attempt", |call| {
            let attempts = others(call);
            let all = attempts
                .iter()
                .flat_map(|attempt| Interruption::ALL.map(|cause| recover(*attempt, cause, REPLAY[0])));
            all.map(Into::into).collect()
        }),
        ("retry", "at a due time", |_| vec![retry(LEASE_OVER).into()]),
        ("resolve", "it happened", |call| {
            let effect = owed(call);
            vec![resolve(Resolution::Happened { result: result(), effect }).into()]
        }),
        ("resolve", "it happened, with an effect where none is owed, or without", |call| {
            let effect = mismatch(call);
            vec![resolve(Resolution::Happened { result: result(), effect }).into()]
        }),
        ("resolve", "it did not happen", |_| vec![resolve(Resolution::NotHappened).into()]),
        ("resolve", "it did not happen, no attempt is left", |call| {
            let max_attempts = latest(call);
            vec![Resolve { max_attempts, ..resolve(Resolution::NotHappened) }.into()]
        }),
        ("resolve", "it is given up", |_| vec![resolve(Resolution::Abandon).into()]),
    ];
    rows.map(|(table, row, commands)| Situation { table, row, commands }).into()
}

const REPLAY: [Option<Interrupted>; 1] = [Some(Interrupted::Replay)];
const UNSAFE: [Option<Interrupted>; 3] = [Some(Interrupted::Probe), Some(Interrupted::Hold), None];
const ALL_POLICIES: [Option<Interrupted>; 4] = [REPLAY[0], UNSAFE[0], UNSAFE[1], UNSAFE[2]];
const LOST: &[Interruption] = &[Interruption::LeaseOver, Interruption::OwnerGone];
const ENDED: &[Interruption] =
    &[Interruption::TimedOut, Interruption::Panicked, Interruption::OutcomeUnknown];

/// The number of the latest attempt; of the first one, where there was none.
fn latest(call: &Call) -> u32 {
    call.attempts().max(1)
}

/// Numbers of attempts that are not the latest.
fn others(call: &Call) -> [u32; 3] {
    [latest(call) - 1, latest(call) + 1, u32::MAX]
}

/// Whether the call's open attempt owes an effect; as if it did, where there is none.
fn owes(call: &Call) -> bool {
    call.open_attempt().is_none_or(|open| open.side_effect)
}

fn owed(call: &Call) -> Option<Effect> {
    owes(call).then(effect)
}

fn mismatch(call: &Call) -> Option<Effect> {
    (!owes(call)).then(effect)
}

/// A success of the latest attempt, with another result than any that is recorded.
fn success(call: &Call) -> Succeed {
    let result = Value::object([("charged", Value::from(0))]).canonical();
    Succeed { result, effect: owed(call), ..succeed(latest(call)) }
}

/// Another failure than any that is recorded.
fn elsewise(error: Failure) -> Failure {
    Failure { message: "another message".into(), ..error }
}

fn claim_with(max_attempts: u32) -> Claim {
    Claim { policy: Policy { max_attempts, ..policy() }, ..claim() }
}

fn given_up_with(
    call: &Call,
    causes: &[Interruption],
    policies: &[Option<Interrupted>],
    max_attempts: u32,
) -> Vec<Command> {
    let all = causes.iter().flat_map(|cause| policies.iter().map(|policy| (*cause, *policy)));
    all.map(|(cause, policy)| Recover { max_attempts, ..recover(latest(call), cause, policy) }.into())
        .collect()
}

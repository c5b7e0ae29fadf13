//! The last looks: does every accepted call end, and does the server count what is there?

use std::collections::BTreeMap;

use super::ops::Op;
use super::{Finding, Findings, Rule};
use crate::history::{Ask, Call, Stats};

/// The tools that owe an effect when they succeed.
const WITH_EFFECT: [&str; 4] = ["charge", "send_email", "ledger.keyed", "ledger.blind"];

pub fn check_key(key: &str, ops: &[&Op<'_>], settled: usize) -> Vec<Finding> {
    let mut findings = Findings::of(key);
    let sent = ops.iter().any(|op| matches!(op.ask, Ask::Post { .. }));
    let looked = ops.iter().any(|op| op.sent > settled && op.told().is_some());
    if sent && !looked {
        findings.add(Rule::History, "nobody took a last look at it".into());
    }
    match last_look(ops, settled) {
        Some(call) if !call.has_ended() => {
            let Call { status, version, .. } = call;
            findings.add(Rule::Unended, format!("it is {status} in version {version} and goes nowhere"));
        }
        Some(_) | None => {}
    }
    findings.found
}

/// The calls as they were seen last, by their keys.
pub fn last_looks<'a>(
    by_key: &BTreeMap<&'a str, Vec<&'a Op<'a>>>,
    settled: usize,
) -> BTreeMap<&'a str, &'a Call> {
    by_key.iter().filter_map(|(key, ops)| Some((*key, last_look(ops, settled)?))).collect()
}

fn last_look<'a>(ops: &[&Op<'a>], settled: usize) -> Option<&'a Call> {
    let looks = ops.iter().filter(|op| op.sent > settled).filter_map(|op| op.shown());
    looks.max_by_key(|(at, _)| *at).map(|(_, call)| call)
}

/// What the server counts at the end is what clients see at the end.
pub fn check_stats(ops: &[Op<'_>], last: &BTreeMap<&str, &Call>) -> Vec<Finding> {
    let mut findings = Findings::of("");
    let told = ops.iter().filter(|op| *op.ask == Ask::Stats).filter_map(|op| op.told());
    let Some(counted) = told.max_by_key(|(at, _)| *at).and_then(|(_, told)| told.stats.as_ref()) else {
        findings.add(Rule::History, "nobody asked for the counters at the end".into());
        return findings.found;
    };
    let count = |which: &dyn Fn(&Call) -> bool| last.values().filter(|call| which(call)).count() as u64;
    let seen = Stats {
        calls: last.len() as u64,
        effects: count(&|call| {
            call.status == "succeeded" && WITH_EFFECT.contains(&call.payload.tool.as_str())
        }),
        held: count(&|call| call.held.is_some()),
    };
    if *counted != seen {
        findings.add(Rule::Miscounted, format!("the server counts {counted:?}, clients see {seen:?}"));
    }
    findings.found
}

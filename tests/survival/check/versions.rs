//! What was seen of one call, in time and by version: linearizable, and made of steps that exist.
//!
//! A call only ever goes on, so looks at it are linearizable exactly if none that began after another had ended shows less: a
//! search for an order would find the order of versions. That there is no such call is version 0.

use std::collections::{BTreeMap, HashSet};

use super::key::posts;
use super::ops::Op;
use super::steps::{State, can_become};
use super::{Finding, Findings, Rule};
use crate::history::{Ask, Call};

pub fn check(key: &str, ops: &[&Op<'_>]) -> Vec<Finding> {
    let mut findings = Findings::of(key);
    never_goes_back(ops, &mut findings);
    let versions = one_call_a_version(ops, &mut findings);
    goes_step_by_step(ops, &versions, &mut findings);
    each_change_is_told_once(ops, &mut findings);
    findings.found
}

/// A look at the call: the least version it shows, and exactly which if `exact`.
struct Look {
    sent: usize,
    at: usize,
    version: u64,
    exact: bool,
}

fn never_goes_back(ops: &[&Op<'_>], findings: &mut Findings<'_>) {
    let mut looks: Vec<_> = ops.iter().filter_map(|op| look(op)).collect();
    looks.sort_by_key(|look| look.at);
    // The highest version that was known once the first so many answers were read.
    let mut known = Vec::with_capacity(looks.len() + 1);
    known.push(0);
    for look in &looks {
        known.push(look.version.max(known[known.len() - 1]));
    }
    for look in looks.iter().filter(|look| look.exact) {
        let before = looks.partition_point(|other| other.at < look.sent);
        match (look.version, known[before]) {
            (shown, known) if shown >= known => {}
            (0, known) => findings.add(Rule::Lost, format!("version {known} was seen, and then no call")),
            (shown, known) => {
                findings.add(Rule::TakenBack, format!("version {known} was seen, and then version {shown}"));
            }
        }
    }
}

fn look(op: &Op<'_>) -> Option<Look> {
    let (at, _) = op.told()?;
    let look = |version, exact| Some(Look { sent: op.sent, at, version, exact });
    match op.shown() {
        Some((_, call)) => look(call.version, true),
        None if op.found_nothing() => look(0, true),
        // Who is refused learns that there is a call.
        None if op.conflicted() => look(1, false),
        None => None,
    }
}

/// Every version is one thing, whoever looks and however often; what is final is the last.
fn one_call_a_version<'a>(
    ops: &[&Op<'a>],
    findings: &mut Findings<'_>,
) -> BTreeMap<u64, (&'a Call, usize, usize)> {
    let mut versions: BTreeMap<u64, (&Call, usize, usize)> = BTreeMap::new();
    for op in ops {
        let Some((at, call)) = op.shown() else { continue };
        let (seen, began, ended) = versions.entry(call.version).or_insert((call, op.sent, at));
        // The narrowest bounds: sent at the latest, read at the earliest.
        (*began, *ended) = ((*began).max(op.sent), (*ended).min(at));
        if *seen != call {
            findings.add(Rule::TakenBack, format!("version {} was {seen:?} and then {call:?}", call.version));
        }
    }
    let last = versions.last_key_value().map(|(version, _)| *version);
    for (version, (call, ..)) in &versions {
        if call.is_final && Some(*version) != last {
            findings.add(Rule::TakenBack, format!("version {version} was final, but {last:?} came after it"));
        }
    }
    versions
}

/// From version to version there is a way of as many steps as there are versions between.
fn goes_step_by_step(
    ops: &[&Op<'_>],
    versions: &BTreeMap<u64, (&Call, usize, usize)>,
    findings: &mut Findings<'_>,
) {
    let mut before: Option<(u64, &Call, usize)> = None;
    for (version, (call, began, ended)) in versions {
        let Some(state) = State::of(call) else {
            findings.add(Rule::Steps, format!("version {version} is in no state that exists: {call:?}"));
            return;
        };
        let from = before.and_then(|(version, call, _)| Some((version, State::of(call)?)));
        let (known, known_state) = from.unwrap_or((1, State::CREATED));
        // A version after a final one is told by another rule.
        let ended_before = before.is_some_and(|(_, call, _)| call.is_final);
        if !ended_before && !can_become(known_state, state, version.saturating_sub(known)) {
            let told = format!("version {known} was {known_state:?}, version {version} is {state:?}");
            findings.add(Rule::Steps, told);
        }
        if let Some((_, failed, seen)) = before
            && failed.status == "failed"
            && !failed.is_final
            && !posts(ops, &failed.payload).any(|op| op.was_under_way(seen, *ended))
        {
            findings.add(Rule::Unasked, format!("version {version} tried again what nobody sent again"));
        }
        before = Some((*version, call, *began));
    }
}

/// "This request changed the call" is told to one request for each change.
fn each_change_is_told_once(ops: &[&Op<'_>], findings: &mut Findings<'_>) {
    let mut changed = HashSet::new();
    for op in ops {
        // After a wait, the version that is shown is not the one that the request made.
        let (Ask::Post { wait: 0, .. }, Some((_, told))) = (op.ask, op.told()) else { continue };
        let (Some(false), Some(call)) = (told.replayed, &told.call) else { continue };
        if !changed.insert(call.version) {
            let told = format!("two requests were told that they made version {}", call.version);
            findings.add(Rule::TwoCalls, told);
        }
    }
}

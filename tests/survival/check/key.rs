//! One key, one call, one request: who is answered with what, and who is refused.

use std::collections::BTreeMap;

use super::ops::Op;
use super::{Finding, Findings, Rule};
use crate::history::{Ask, Payload};

pub fn check(key: &str, ops: &[&Op<'_>]) -> Vec<Finding> {
    let mut findings = Findings::of(key);
    let shown: Vec<_> = ops.iter().filter_map(|op| op.shown()).collect();
    let Some((_, first)) = shown.first() else { return refused_without_reason(key, ops) };
    for (_, call) in &shown {
        if call.key != key {
            findings.add(
                Rule::TwoCalls,
                format!("it was answered with {}, which belongs to {}", call.id, call.key),
            );
        }
        if call.id != first.id {
            findings.add(Rule::TwoCalls, format!("it led to {} and to {}", first.id, call.id));
        }
        if call.payload != first.payload {
            findings
                .add(Rule::OtherRequest, format!("its call was {:?} and {:?}", first.payload, call.payload));
        }
    }
    let accepted = &first.payload;
    for op in ops {
        let Ask::Post { payload, .. } = op.ask else { continue };
        match payload == accepted {
            true if op.conflicted() => {
                findings
                    .add(Rule::OtherRequest, format!("its own request {payload:?} was refused as another"));
            }
            false if op.shown().is_some() => {
                findings.add(Rule::OtherRequest, format!("{payload:?} was answered with {accepted:?}"));
            }
            true | false => {}
        }
    }
    // An answer is about something that was sent before it was read.
    let first_seen = shown.iter().map(|(at, _)| *at).min().unwrap_or_default();
    if !posts(ops, accepted).any(|op| op.sent < first_seen) {
        findings.add(Rule::Unasked, format!("{} was there before anybody sent it", first.id));
    }
    findings.found.extend(refused_without_reason(key, ops));
    findings.found
}

/// A refusal says that the key belongs to another request: somebody must have sent one before.
fn refused_without_reason(key: &str, ops: &[&Op<'_>]) -> Vec<Finding> {
    let mut findings = Findings::of(key);
    for op in ops.iter().filter(|op| op.conflicted()) {
        let (Ask::Post { payload, .. }, Some((at, _))) = (op.ask, op.told()) else { continue };
        let another = ops.iter().any(|other| {
            matches!(other.ask, Ask::Post { payload: sent, .. } if sent != payload) && other.sent < at
        });
        if !another {
            findings.add(Rule::OtherRequest, format!("{payload:?} was refused, but nobody sent another"));
        }
    }
    findings.found
}

/// The requests that mean this.
pub fn posts<'a>(ops: &'a [&'a Op<'a>], meaning: &'a Payload) -> impl Iterator<Item = &'a Op<'a>> {
    ops.iter().copied().filter(move |op| matches!(op.ask, Ask::Post { payload, .. } if payload == meaning))
}

/// No two keys lead to one call.
pub fn no_call_has_two_keys(by_key: &BTreeMap<&str, Vec<&Op<'_>>>) -> Vec<Finding> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for (key, ops) in by_key {
        for (_, call) in ops.iter().filter_map(|op| op.shown()) {
            let owner = *owners.entry(&call.id).or_insert(key);
            if owner != *key {
                let told = format!("{} was shown to {owner}, too", call.id);
                found.push(Finding { rule: Rule::TwoCalls, key: (*key).to_owned(), told });
                break;
            }
        }
    }
    found
}

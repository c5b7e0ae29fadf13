//! The downstream's book against what clients were told: one effect for each call that succeeded, never two, none unasked.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::ops::Op;
use super::{Finding, Findings, Rule};
use crate::history::{Ask, Call};
use crate::ledger::{Entry, Kind};

/// What args and results of tools with an effect say.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Said {
    amount: Option<u64>,
    charged: Option<u64>,
    receipt: Option<u64>,
    effect_id: Option<String>,
}

fn read(text: &str) -> Said {
    serde_json::from_str(text).unwrap_or_default()
}

pub fn check(
    by_key: &BTreeMap<&str, Vec<&Op<'_>>>,
    last: &BTreeMap<&str, &Call>,
    book: &[Entry],
) -> Vec<Finding> {
    let mut entries: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in book {
        entries.entry(&entry.key).or_default().push(entry);
    }
    let mut found = Vec::new();
    for (key, entries) in &entries {
        let ops = by_key.get(key).map_or(&[][..], Vec::as_slice);
        found.extend(in_the_book(key, entries, ops));
    }
    for (key, call) in last {
        let entries = entries.get(key).map_or(&[][..], Vec::as_slice);
        found.extend(as_the_call_says(key, call, entries));
    }
    found.extend(no_effect_has_two_calls(last));
    found
}

/// What the downstream was asked is what a client asked, for the call that its key leads to.
fn in_the_book(key: &str, entries: &[&Entry], ops: &[&Op<'_>]) -> Vec<Finding> {
    let mut findings = Findings::of(key);
    let id = ops.iter().find_map(|op| op.shown()).map(|(_, call)| &call.id);
    for entry in entries {
        let tool = format!("ledger.{}", entry.kind.as_str());
        let asked = ops.iter().any(|op| {
            matches!(op.ask, Ask::Post { payload, .. }
                if payload.tool == tool && read(&payload.args).amount == Some(entry.amount))
        });
        if !asked {
            findings.add(Rule::Unasked, format!("the downstream was asked for {entry:?}"));
        }
        if id.is_some_and(|id| *id != entry.call_id) {
            findings
                .add(Rule::TwoCalls, format!("the downstream was asked by {}, not {id:?}", entry.call_id));
        }
    }
    let applied: Vec<_> = entries.iter().filter(|entry| entry.applied).map(|entry| entry.number).collect();
    if applied.len() > 1 {
        findings
            .add(Rule::Doubled, format!("the downstream applied it {} times: {applied:?}", applied.len()));
    }
    let ids: BTreeSet<_> = entries.iter().map(|entry| &entry.effect_id).collect();
    if ids.len() > 1 {
        findings.add(Rule::Doubled, format!("attempts had more than one effect id: {ids:?}"));
    }
    findings.found
}

/// What a call says of its effect is what happened.
fn as_the_call_says(key: &str, call: &Call, entries: &[&Entry]) -> Vec<Finding> {
    let mut findings = Findings::of(key);
    let applied = entries.iter().find(|entry| entry.applied);
    let kind = match call.payload.tool.as_str() {
        "ledger.keyed" => Some(Kind::Keyed),
        "ledger.blind" => Some(Kind::Blind),
        _ => None,
    };
    let succeeded = call.status == "succeeded";
    let result = call.result.as_deref().map(read).unwrap_or_default();
    let amount = read(&call.payload.args).amount;
    match (kind, applied) {
        (Some(_), None) if succeeded => {
            findings.add(Rule::Missing, "it succeeded, but was not applied".into())
        }
        (Some(_), Some(entry)) if succeeded => {
            let effect_id = Some(&entry.effect_id);
            let fits = call.effect_id.as_ref() == effect_id && result.effect_id.as_ref() == effect_id;
            if !fits || result.receipt != Some(entry.number) || amount != Some(entry.amount) {
                findings.add(Rule::Missing, format!("its result is {result:?}, but applied was {entry:?}"));
            }
        }
        // Where nobody can ask, a failure says that nothing happened: the unknown is held.
        (Some(Kind::Blind), Some(entry)) if call.status == "failed" => {
            findings.add(Rule::Missing, format!("it failed, but applied was {entry:?}"));
        }
        (Some(_), _) => {}
        (None, _) => {}
    }
    let own = matches!(call.payload.tool.as_str(), "charge" | "send_email");
    if own && succeeded && (call.effect_id.is_none() || result.effect_id != call.effect_id) {
        findings.add(Rule::Missing, format!("its effect is {:?}, its result {result:?}", call.effect_id));
    }
    if call.payload.tool == "charge" && succeeded && result.charged != amount {
        findings.add(Rule::Missing, format!("{amount:?} was asked for, {:?} charged", result.charged));
    }
    findings.found
}

/// An effect belongs to one call.
fn no_effect_has_two_calls(last: &BTreeMap<&str, &Call>) -> Vec<Finding> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for (key, call) in last {
        let Some(effect_id) = &call.effect_id else { continue };
        if let Some(owner) = owners.insert(effect_id, key) {
            let told = format!("{effect_id} is the effect of {owner}, too");
            found.push(Finding { rule: Rule::Doubled, key: (*key).to_owned(), told });
        }
    }
    found
}

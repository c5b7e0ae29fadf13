//! Any bytes as JSON: refused with a place, or brought to one canonical form.

use crate::domain::fingerprint::fingerprint;
use crate::domain::json::{Canonical, Value, parse};
use crate::http::wire::ToolCall;

/// Canonicalising is idempotent, blind to the order of members, and agrees with a second implementation wherever that one
/// keeps what the sender wrote.
pub fn canonical_json(bytes: &[u8]) {
    let value = match parse(bytes) {
        Ok(value) => value,
        Err(error) => {
            assert!(error.offset() <= bytes.len(), "the error is beyond the input: {error}");
            return;
        }
    };
    let canonical = value.canonical();
    assert_eq!(canonical.to_value(), value, "the canonical form says something else");
    assert_eq!(canonical.to_value().canonical(), canonical, "the canonical form has another canonical form");
    assert_eq!(Canonical::parse(canonical.as_str()).as_ref(), Ok(&canonical));
    assert_eq!(reversed(&value).canonical(), canonical, "the order of members shows");
    if is_plain(&value) {
        // Both start from our canonical text: a lenient float parser must not be what they differ in.
        let theirs: serde_json::Value =
            serde_json::from_str(canonical.as_str()).expect("canonical JSON is JSON");
        let theirs = serde_json_canonicalizer::to_string(&theirs).expect("it has a canonical form");
        assert_eq!(theirs, canonical.as_str());
    }
}

/// A request body is refused, or its meaning survives being written again in canonical form.
pub fn request_body(bytes: &[u8]) {
    let Ok(call) = ToolCall::read(bytes) else { return };
    assert!(call.args.as_object().is_some(), "args are always an object");
    let mut members = vec![
        ("tool".to_string(), Value::String(call.tool.as_str().into())),
        ("args".to_string(), call.args.clone()),
    ];
    if let Some(client_id) = &call.client_id {
        members.push(("client_id".into(), Value::String(client_id.as_str().into())));
    }
    if let Some(seq) = call.seq {
        members.push(("seq".into(), Value::from(i64::try_from(seq).expect("at most 2^53-1"))));
    }
    let again = Value::Object(members).canonical();
    let again = ToolCall::read(again.as_str().as_bytes()).expect("the canonical form of a request is one");
    let print = |call: &ToolCall| fingerprint(call.tool.as_str(), &call.args.canonical());
    assert_eq!(print(&again), print(&call));
    assert_eq!((again.tool, again.client_id, again.seq), (call.tool, call.client_id, call.seq));
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().rev().map(|(name, value)| (name.clone(), reversed(value)));
            Value::Object(members.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whether every number survives being a double that `serde_json` reads: no large integers (which we keep on purpose),
/// no fraction or exponent (where its default parser may be one unit off).
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_i64().is_some_and(|n| n.unsigned_abs() < 1 << 53),
        Value::Object(members) => members.iter().all(|(_, value)| is_plain(value)),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

//! One intended call: its key and its request, the same for every time it is sent.

use super::Seen;
use crate::domain::id::{ClientId, IdemKey, ToolName};
use crate::domain::json::{self, Value};

/// What a client intends to happen once. The key is made before anything is sent, and belongs to this intention alone.
#[derive(Debug, Clone)]
pub struct Intent {
    /// What names it.
    pub key: IdemKey,
    /// The tool to run.
    pub tool: ToolName,
    /// Its arguments, a JSON object.
    pub args: Value,
    /// Who sends it.
    pub client_id: Option<ClientId>,
    /// The client's own number for it.
    pub seq: Option<i64>,
}

impl Intent {
    /// The body of the request.
    pub fn body(&self) -> String {
        let mut members = vec![
            ("args".to_string(), self.args.clone()),
            ("tool".to_string(), Value::String(self.tool.as_str().into())),
        ];
        if let Some(client_id) = &self.client_id {
            members.push(("client_id".into(), Value::String(client_id.as_str().into())));
        }
        if let Some(seq) = self.seq {
            members.push(("seq".into(), Value::from(seq)));
        }
        Value::Object(members).canonical().as_str().into()
    }

    /// Whether `seen` is a call of this request.
    pub(super) fn is_of(&self, seen: &Seen) -> bool {
        let args = json::parse(seen.args.get().as_bytes());
        let same_args = args.is_ok_and(|args| args.canonical() == self.args.canonical());
        same_args && seen.tool == self.tool.as_str()
    }
}

/// The path that finds a call by its key.
pub fn by_key(key: &IdemKey) -> String {
    let key = percent_encoding::utf8_percent_encode(key.as_str(), percent_encoding::NON_ALPHANUMERIC);
    format!("/v1/tool-calls/by-key/{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(args: &str) -> Intent {
        Intent {
            key: IdemKey::parse("a/b").expect("a key"),
            tool: ToolName::parse("charge").expect("a tool"),
            args: json::parse(args.as_bytes()).expect("JSON"),
            client_id: None,
            seq: None,
        }
    }

    #[test]
    fn a_found_call_is_compared_by_tool_and_canonical_args() {
        let ours = intent(r#"{"b":1,"a":9007199254740993}"#);
        for (tool, args, same) in [
            ("charge", r#"{"a":9007199254740993,"b":1e0}"#, true),
            ("charge", r#"{"a":9007199254740992,"b":1}"#, false),
            ("refund", r#"{"a":9007199254740993,"b":1}"#, false),
            ("charge", "[]", false),
        ] {
            let seen = format!(
                r#"{{"call_id":"c_1","idem_key":"a/b","status":"pending","final":false,"tool":"{tool}","args":{args}}}"#
            );
            let seen = Seen::of(&ours.key, seen).expect("a call");
            assert_eq!(ours.is_of(&seen), same, "{tool} {args}");
        }
    }

    #[test]
    fn a_key_is_one_segment_of_the_path() {
        assert_eq!(by_key(&intent("{}").key), "/v1/tool-calls/by-key/a%2Fb");
    }
}

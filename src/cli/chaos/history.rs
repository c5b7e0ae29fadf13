//! What the client did and saw, written down before it sends and after it hears; judged without a word of the server's.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::id::IdemKey;
use crate::http::client::{Answer, ClientError};

/// A line of the history.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Line {
    /// Before it is sent.
    Sends { r#try: u32, key: String, sends: Value },
    /// It was answered.
    Answered {
        r#try: u32,
        key: String,
        http: u16,
        #[serde(flatten)]
        call: Option<Call>,
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
    },
    /// It was not: what became of it is unknown.
    Failed { r#try: u32, key: String, error: String },
}

/// What of a call a client goes by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) call_id: String,
    pub(super) status: String,
    #[serde(rename = "final")]
    pub(super) is_final: bool,
    pub(super) attempt: u32,
    pub(super) result: Value,
    pub(super) error: Value,
}

/// All that one client did and saw.
#[derive(Debug, Default)]
pub(super) struct History {
    lines: Vec<Line>,
    tries: BTreeMap<String, u32>,
}

impl History {
    /// Notes that a request is about to be sent; the number of the try, from 1.
    pub(super) fn sends(&mut self, key: &IdemKey, body: &str) -> u32 {
        let number = self.tries.entry(key.to_string()).or_default();
        *number += 1;
        let sends = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.into()));
        let number = *number;
        self.lines.push(Line::Sends { r#try: number, key: key.to_string(), sends });
        number
    }

    /// Notes what came of it; the call, if one was answered.
    pub(super) fn heard(
        &mut self,
        number: u32,
        key: &IdemKey,
        heard: &Result<Answer, ClientError>,
    ) -> Option<Call> {
        let key = key.to_string();
        let (line, call) = match heard {
            Err(error) => (Line::Failed { r#try: number, key, error: error.to_string() }, None),
            Ok(answer) => {
                // Only a success is an acknowledgement.
                let call: Option<Call> =
                    serde_json::from_str(&answer.body).ok().filter(|_| (200..300).contains(&answer.status));
                let body = call.is_none().then(|| answer.body.clone());
                (Line::Answered { r#try: number, key, http: answer.status, call: call.clone(), body }, call)
            }
        };
        self.lines.push(line);
        call
    }

    pub(super) fn last(&self) -> Option<&Line> {
        self.lines.last()
    }

    pub(super) fn into_lines(self) -> Vec<Line> {
        self.lines
    }

    /// The calls that were acknowledged, by key, in the order in which they were heard of.
    fn acknowledged(&self) -> BTreeMap<&str, Vec<&Call>> {
        let mut calls = BTreeMap::<&str, Vec<&Call>>::new();
        for line in &self.lines {
            if let Line::Answered { key, call: Some(call), .. } = line {
                calls.entry(key).or_default().push(call);
            }
        }
        calls
    }

    /// Every way in which what this client was told cannot be true, given the calls that the log knows in the end.
    pub(super) fn contradictions(&self, in_log: &BTreeSet<String>) -> Vec<String> {
        let mut found = Vec::new();
        for (key, calls) in self.acknowledged() {
            let ids: BTreeSet<_> = calls.iter().map(|call| call.call_id.as_str()).collect();
            if ids.len() > 1 {
                let ids: Vec<_> = ids.iter().copied().collect();
                found.push(format!("key {key} led to {} calls: {}", ids.len(), ids.join(", ")));
            }
            for lost in ids.iter().filter(|id| !in_log.contains(**id)) {
                found.push(format!("{lost} was acknowledged to key {key} and is not in the log"));
            }
            let mut ends = calls.iter().filter(|call| call.is_final);
            if let Some(first) = ends.next()
                && let Some(other) = ends.find(|call| call != &first)
            {
                found.push(format!("key {key} had a final answer, and later another: {first:?}, {other:?}"));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Result<Answer, ClientError> {
        Ok(Answer { status, retry_after: None, body: body.to_owned() })
    }

    fn call(id: &str, status: &str, is_final: bool, result: u32) -> String {
        format!(
            r#"{{"call_id":"{id}","status":"{status}","final":{is_final},"attempt":1,"result":{result},"error":null}}"#
        )
    }

    fn judged(answers: &[(&str, u16, String)], in_log: &[&str]) -> Vec<String> {
        let mut history = History::default();
        for (key, status, body) in answers {
            let key = IdemKey::parse(key).expect("a key");
            let number = history.sends(&key, "{}");
            history.heard(number, &key, &answer(*status, body));
        }
        history.contradictions(&in_log.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_true_history_has_no_contradiction() {
        let answers = [
            ("a", 202, call("c_1", "pending", false, 0)),
            ("a", 200, call("c_1", "succeeded", true, 7)),
            ("a", 200, call("c_1", "succeeded", true, 7)),
            ("b", 202, call("c_2", "pending", false, 0)),
            // A refusal acknowledges nothing, whatever it says.
            ("b", 409, call("c_9", "pending", false, 0)),
        ];
        assert_eq!(judged(&answers, &["c_1", "c_2", "c_3"]), Vec::<String>::new());
    }

    #[test]
    fn each_contradiction_is_found() {
        let two =
            [("a", 202, call("c_1", "pending", false, 0)), ("a", 202, call("c_2", "pending", false, 0))];
        assert!(judged(&two, &["c_1", "c_2"]).iter().any(|found| found.contains("led to 2 calls")));
        let lost = [("a", 202, call("c_1", "pending", false, 0))];
        assert!(judged(&lost, &[]).iter().any(|found| found.contains("not in the log")));
        let changed =
            [("a", 200, call("c_1", "succeeded", true, 7)), ("a", 200, call("c_1", "succeeded", true, 8))];
        assert!(judged(&changed, &["c_1"]).iter().any(|found| found.contains("and later another")));
    }
}

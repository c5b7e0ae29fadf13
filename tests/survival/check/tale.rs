//! Histories made by hand, to try the checker on.

use super::{Finding, Rule, check};
use crate::history::{Ask, Call, Line, Payload, Stats, Told};
use crate::ledger::{Entry, Kind};

/// A history and a book in the making.
#[derive(Clone, Default)]
pub struct Tale {
    pub lines: Vec<Line>,
    pub book: Vec<Entry>,
    last: u64,
}

/// What a tool is asked to do with 5, by a request with this key.
pub fn wish(tool: &str, key: &str) -> Payload {
    amount(tool, key, 5)
}

pub fn amount(tool: &str, key: &str, amount: u64) -> Payload {
    Payload { tool: tool.to_owned(), args: format!(r#"{{"amount":{amount},"key":"{key}"}}"#) }
}

/// The call of a key, as it was accepted.
pub fn pending(tool: &str, key: &str) -> Call {
    Call {
        id: format!("c_{key}"),
        key: key.to_owned(),
        payload: wish(tool, key),
        status: "pending".into(),
        is_final: false,
        attempt: 0,
        version: 1,
        result: None,
        error: None,
        held: None,
        effect_id: None,
    }
}

impl Call {
    /// The call at another version, in its attempt so and so.
    pub fn at(&self, version: u64, attempt: u64, status: &str) -> Self {
        Self { version, attempt, status: status.into(), ..self.clone() }
    }

    pub fn running(&self) -> Self {
        self.at(self.version + 1, self.attempt + 1, "running")
    }

    /// Done, with the receipt that the downstream would give.
    pub fn succeeded(&self, receipt: u64) -> Self {
        let effect = format!("eff_{}", self.key);
        Self {
            is_final: true,
            result: Some(match self.payload.tool.as_str() {
                "charge" => format!(r#"{{"charged":5,"effect_id":"{effect}"}}"#),
                _ => format!(r#"{{"effect_id":"{effect}","receipt":{receipt}}}"#),
            }),
            effect_id: Some(effect),
            ..self.at(self.version + 1, self.attempt, "succeeded")
        }
    }

    pub fn failed(&self, retryable: bool) -> Self {
        let error = format!(r#"{{"code":"tool_failed","message":"","retryable":{retryable}}}"#);
        Self { is_final: !retryable, error: Some(error), ..self.at(self.version + 1, self.attempt, "failed") }
    }

    /// Pending again, because somebody sent its request again.
    pub fn reset(&self) -> Self {
        Self { error: None, ..self.at(self.version + 1, self.attempt, "pending") }
    }

    pub fn held(&self) -> Self {
        Self { held: Some("{}".into()), ..self.at(self.version + 1, self.attempt, "running") }
    }
}

impl Tale {
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends, and returns the operation's number.
    pub fn sends(&mut self, ask: Ask) -> u64 {
        self.last += 1;
        self.lines.push(Line::Sent { op: self.last, ask });
        self.last
    }

    pub fn posts(&mut self, payload: &Payload, key: &str) -> u64 {
        self.sends(Ask::Post { key: key.to_owned(), payload: payload.clone(), wait: 0 })
    }

    pub fn looks(&mut self, key: &str) -> u64 {
        self.sends(Ask::GetKey { key: key.to_owned(), wait: 0 })
    }

    pub fn answers(&mut self, op: u64, told: Told) {
        self.lines.push(Line::Answered { op, told: Box::new(told) });
    }

    /// Answers with this call.
    pub fn shows(&mut self, op: u64, call: &Call) {
        self.answers(op, Told { call: Some(call.clone()), ..status(200) });
    }

    pub fn refuses(&mut self, op: u64, code: u16) {
        self.answers(op, status(code));
    }

    pub fn cuts(&mut self, op: u64) {
        self.lines.push(Line::Unknown { op, why: "reset".into() });
    }

    /// A request that is accepted at once.
    pub fn accepts(&mut self, call: &Call) {
        let op = self.posts(&call.payload, &call.key);
        self.shows(op, call);
    }

    /// A look that shows this.
    pub fn seen(&mut self, call: &Call) {
        let op = self.looks(&call.key);
        self.shows(op, call);
    }

    /// A line of the downstream's book for this call.
    pub fn books(&mut self, call: &Call, applied: bool) {
        let kind = if call.payload.tool == "ledger.keyed" { Kind::Keyed } else { Kind::Blind };
        self.book.push(Entry {
            number: self.book.len() as u64 + 1,
            kind,
            effect_id: format!("eff_{}", call.key),
            call_id: call.id.clone(),
            key: call.key.clone(),
            amount: 5,
            applied,
        });
    }

    pub fn settles(&mut self) {
        self.lines.push(Line::Settled);
    }

    pub fn counts(&mut self, stats: Stats) {
        let op = self.sends(Ask::Stats);
        self.answers(op, Told { stats: Some(stats), ..status(200) });
    }

    /// The last looks, which show this, and the counters that go with it.
    pub fn ends(mut self, last: &[&Call]) -> Self {
        self.settles();
        last.iter().for_each(|call| self.seen(call));
        let count = |which: &dyn Fn(&Call) -> bool| last.iter().filter(|call| which(call)).count() as u64;
        let has_effect = |call: &Call| call.status == "succeeded" && call.payload.tool != "sleep";
        self.counts(Stats {
            calls: last.len() as u64,
            effects: count(&has_effect),
            held: count(&|call| call.held.is_some()),
        });
        self
    }

    pub fn judged(&self) -> Vec<Finding> {
        check(&self.lines, &self.book)
    }

    /// The rules that are found broken.
    pub fn broken(&self) -> Vec<Rule> {
        let mut rules: Vec<_> = self.judged().iter().map(|finding| finding.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

pub fn status(status: u16) -> Told {
    Told { status, replayed: None, call: None, code: None, stats: None }
}

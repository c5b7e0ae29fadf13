//! An answer of a downstream, and what it says.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};

use super::statuses::{Says, Statuses};
use super::{Failure, Finding, Outcome};
use crate::domain::json::{self, Value};
use crate::domain::retry_after::retry_after;
use crate::engine::clock::Clock;

/// How much of a body is repeated in a message, in characters: enough for a reason, too little to fill the log.
const MAX_QUOTED: usize = 500;

/// An answer, as far as it was read.
pub(super) struct Answer {
    status: u16,
    is_text: bool,
    retry_after: Option<Duration>,
    body: Vec<u8>,
    /// The cap that the body is longer than, in bytes.
    longer_than: Option<usize>,
}

impl Answer {
    /// An answer of which nothing but the head was read.
    pub(super) fn new(status: u16, headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            status,
            is_text: text(&CONTENT_TYPE).is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/")),
            retry_after: text(&RETRY_AFTER).and_then(|told| retry_after(told, Clock::System.now())),
            body: Vec::new(),
            longer_than: None,
        }
    }

    /// Takes a piece of the body. Returns whether there is room for more.
    pub(super) fn take(&mut self, chunk: &[u8], max_body: usize) -> bool {
        let room = max_body - self.body.len();
        self.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            self.longer_than = Some(max_body);
        }
        self.longer_than.is_none()
    }

    /// Blots these texts out, because a downstream may repeat what it was sent and its words are stored.
    pub(super) fn hide<'a>(&mut self, secrets: impl Iterator<Item = &'a str>) {
        for secret in secrets {
            if let Ok(text) = std::str::from_utf8(&self.body)
                && text.contains(secret)
            {
                self.body = text.replace(secret, "***").into_bytes();
            }
        }
    }

    /// How the attempt that it answers ended.
    pub(super) fn outcome(self, statuses: &Statuses) -> Outcome {
        let failed = |answer: &Self, retryable| Failure {
            code: "tool_failed".into(),
            message: answer.told(),
            retryable,
            cause: None,
        };
        match (statuses.says(self.status), self.retry_after) {
            (Says::Success, _) => match self.result() {
                Ok(result) => Outcome::Succeeded { result, amount: None },
                Err(message) => Outcome::Unknown { message },
            },
            (Says::Retryable | Says::RetryableIfTold, Some(after)) => {
                Outcome::NotNow { failure: failed(&self, true), after }
            }
            (Says::Retryable, None) => Outcome::Failed(failed(&self, true)),
            (Says::Final, _) => Outcome::Failed(failed(&self, false)),
            (Says::Unknown, _) | (Says::RetryableIfTold, None) => Outcome::Unknown { message: self.told() },
        }
    }

    /// What it says of the attempt that was asked about.
    pub(super) fn finding(self, statuses: &Statuses) -> Finding {
        match statuses.says(self.status) {
            Says::Success => match self.result() {
                Ok(result) => Finding::Happened { result, evidence: self.told() },
                Err(message) => Finding::Unknown { message },
            },
            Says::Final => Finding::NotHappened { evidence: self.told() },
            Says::Retryable | Says::RetryableIfTold | Says::Unknown => {
                Finding::Unknown { message: self.told() }
            }
        }
    }

    /// The result in its body: JSON, a text that says that it is one, or nothing.
    fn result(&self) -> Result<Value, String> {
        let status = self.status;
        if let Some(cap) = self.longer_than {
            return Err(format!("answered {status} with more than {cap} bytes"));
        }
        if self.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Value::Null);
        }
        match (self.is_text, std::str::from_utf8(&self.body)) {
            (true, Ok(text)) => Ok(Value::String(text.into())),
            (true, Err(_)) => Err(format!("answered {status} with a text that is not UTF-8")),
            (false, _) => json::parse(&self.body)
                .map_err(|problem| format!("answered {status} with what is not JSON: {problem}")),
        }
    }

    /// Its status and the beginning of its body, for people.
    fn told(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let shown = |letter: char| if letter.is_control() { ' ' } else { letter };
        let quoted: String = text.trim().chars().take(MAX_QUOTED).map(shown).collect();
        match (quoted.is_empty(), text.trim().chars().nth(MAX_QUOTED).is_some() || self.longer_than.is_some())
        {
            (true, _) => format!("answered {}", self.status),
            (false, false) => format!("answered {}: {quoted}", self.status),
            (false, true) => format!("answered {}: {quoted}…", self.status),
        }
    }
}

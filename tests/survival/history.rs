//! What clients asked and were told, a line each, in the order in which it happened: the witness that the checker believes.
//!
//! A line is written before a request is sent and after its answer is read to the end. So whatever stands above a `Sent` line was
//! over before that request began. The file lies where no fault reaches it, and shares no shape with the server's code.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// A request is about to be sent.
    Sent { op: u64, ask: Ask },
    /// Its answer was read to the end.
    Answered { op: u64, told: Box<Told> },
    /// It ended in any other way: it may have been carried out, or not, or may still be.
    Unknown { op: u64, why: String },
    /// The faults have stopped, and everything has had its time to end: what follows are the last looks.
    Settled,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    Post {
        key: String,
        payload: Payload,
        wait: u64,
    },
    GetKey {
        key: String,
        wait: u64,
    },
    /// `key` is whose call this id was told to be.
    GetId {
        key: String,
        id: String,
    },
    Stats,
}

impl Ask {
    /// The key it is about.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Post { key, .. } | Self::GetKey { key, .. } | Self::GetId { key, .. } => Some(key),
            Self::Stats => None,
        }
    }
}

/// What is to run: the tool's name, and the args as the bytes that were sent, which are canonical.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Payload {
    pub tool: String,
    pub args: String,
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    pub status: u16,
    /// The header `Idempotent-Replayed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// The code of an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<Stats>,
}

/// A call as an answer shows it. What may be anything is kept as the bytes that were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub key: String,
    pub payload: Payload,
    pub status: String,
    pub is_final: bool,
    pub attempt: u64,
    pub version: u64,
    pub result: Option<String>,
    pub error: Option<String>,
    pub held: Option<String>,
    pub effect_id: Option<String>,
}

impl Call {
    /// Whether nothing happens to it any more, unless somebody asks: it is final, failed or held.
    pub fn has_ended(&self) -> bool {
        self.is_final || self.status == "failed" || self.held.is_some()
    }
}

/// The server's own counters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub calls: u64,
    pub effects: u64,
    pub held: u64,
}

/// A history that is being written, by several clients at once.
pub struct Writer(Mutex<Open>);

struct Open {
    file: File,
    last: u64,
}

impl Writer {
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(Open { file: File::create_new(path)?, last: 0 })))
    }

    /// Writes that this is about to be sent, and returns the operation's number.
    pub fn sends(&self, ask: &Ask) -> u64 {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.last += 1;
        let op = open.last;
        open.write(&Line::Sent { op, ask: ask.clone() });
        op
    }

    pub fn writes(&self, line: &Line) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(line);
    }
}

impl Open {
    fn write(&mut self, line: &Line) {
        let mut text = serde_json::to_string(line).expect("a line is JSON");
        text.push('\n');
        self.file.write_all(text.as_bytes()).expect("the history can be written");
    }
}

/// Reads a history to its end.
pub fn read(path: &Path) -> Vec<Line> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = BufReader::new(file).lines().map(|line| line.expect("a history is UTF-8"));
    lines
        .map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}")))
        .collect()
}

//! What is asked next: new keys, the same again, the same key with another payload, looks by key and by id.

use std::sync::{Mutex, PoisonError};

use crate::dice::Dice;
use crate::history::{Ask, Payload, Told};

/// How far back "recent" reaches: keys that other clients may be asking about right now.
const RECENT: u64 = 24;

/// What the clients know together.
pub struct Knowledge {
    seed: u64,
    /// For each key that was ever sent, by its number: the id of its call, once somebody was told.
    ids: Mutex<Vec<Option<String>>>,
}

/// What one client chooses by.
pub struct Chooser {
    dice: Dice,
    /// The requests that it does not know the outcome of.
    unsettled: Vec<(u64, Payload)>,
}

impl Knowledge {
    pub fn new(seed: u64) -> Self {
        Self { seed, ids: Mutex::default() }
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn chooser(&self, client: u64) -> Chooser {
        Chooser { dice: Dice::new(self.seed, client), unsettled: Vec::new() }
    }

    /// All keys that were ever sent, by their numbers.
    pub fn keys(&self) -> Vec<String> {
        let known = self.ids.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        (0..known).map(key).collect()
    }

    /// Remembers the id of a call, so that others can ask by it.
    pub fn learns(&self, ask: &Ask, told: &Told) {
        let (Some(call), Some(number)) = (&told.call, ask.key().and_then(number)) else { return };
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids[number as usize].get_or_insert_with(|| call.id.clone());
    }

    /// What this client asks next.
    pub fn choose(&self, chooser: &mut Chooser) -> Ask {
        let Chooser { dice, unsettled } = chooser;
        // A client whose request was cut off mostly sends it again, under the same key.
        if dice.percent(70)
            && let Some((number, payload)) = unsettled.pop()
        {
            return Ask::Post { key: key(number), payload, wait: wait(dice) };
        }
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ids.len() as u64;
        let what = dice.below(100);
        if known == 0 || what < 42 {
            ids.push(None);
            return Ask::Post { key: key(known), payload: base(self.seed, known), wait: wait(dice) };
        }
        // Mostly one that others may be asking about, too.
        let number = match dice.percent(75) {
            true => known - 1 - dice.below(known.min(RECENT)),
            false => dice.below(known),
        };
        match what {
            42..64 => Ask::Post { key: key(number), payload: base(self.seed, number), wait: wait(dice) },
            64..72 => Ask::Post { key: key(number), payload: other(self.seed, number), wait: 0 },
            72..84 => match &ids[number as usize] {
                Some(id) => Ask::GetId { key: key(number), id: id.clone() },
                None => Ask::GetKey { key: key(number), wait: 0 },
            },
            84..98 => Ask::GetKey { key: key(number), wait: wait(dice) },
            _ => Ask::GetKey { key: format!("nobody-{number}"), wait: 0 },
        }
    }
}

impl Chooser {
    /// Remembers a request whose outcome is not known.
    pub fn learns(&mut self, ask: &Ask, answered: bool) {
        if let (Ask::Post { key, payload, .. }, false) = (ask, answered)
            && let Some(number) = number(key)
        {
            self.unsettled.push((number, payload.clone()));
        }
    }
}

fn key(number: u64) -> String {
    format!("k{number}")
}

fn number(key: &str) -> Option<u64> {
    key.strip_prefix('k')?.parse().ok()
}

/// How many seconds the server is asked to hold its answer back, until the call has ended.
fn wait(dice: &mut Dice) -> u64 {
    match dice.below(10) {
        0..6 => 0,
        6..9 => 1,
        _ => 5,
    }
}

/// What a key is meant for.
pub fn base(seed: u64, number: u64) -> Payload {
    payload(seed, number, 0)
}

/// What somebody else means by the same key.
fn other(seed: u64, number: u64) -> Payload {
    payload(seed, number, 1)
}

/// Args in canonical form: names sorted, no space, so that the server has to answer with the very bytes.
fn payload(seed: u64, number: u64, meaning: u64) -> Payload {
    let mut dice = Dice::new(!seed, number);
    let kind = dice.below(100);
    let amount = dice.between(1, 1_000_000) * 2 + meaning;
    let key = key(number);
    let (tool, args) = match kind {
        0..35 => ("charge", format!(r#"{{"amount":{amount},"key":"{key}"}}"#)),
        35..43 => ("send_email", format!(r#"{{"subject":"{amount}","to":"{key}"}}"#)),
        43..68 => ("ledger.keyed", format!(r#"{{"amount":{amount},"key":"{key}"}}"#)),
        68..82 => ("ledger.blind", format!(r#"{{"amount":{amount},"key":"{key}"}}"#)),
        82..90 => ("sleep", format!(r#"{{"note":{amount},"seconds":0.0{}}}"#, dice.between(1, 3))),
        90..94 => ("fail", format!(r#"{{"message":"{amount}"}}"#)),
        _ => ("fail", format!(r#"{{"message":"{amount}","retryable":true,"times":{}}}"#, dice.between(1, 3))),
    };
    Payload { tool: tool.to_owned(), args }
}

//! What the service was asked for and what it paid: a file with one JSON object a line, which outlives the service.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// A line of the book.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A request to pay has come in.
    Asked(Asked),
    /// A payment was made.
    Paid(Payment),
}

/// A request to pay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub effect_id: String,
    pub attempt: Option<String>,
    pub call_id: Option<String>,
    pub traceparent: Option<String>,
}

/// A payment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Payment {
    pub effect_id: String,
    pub amount: u64,
    pub to: String,
}

/// Why nothing was paid.
#[derive(Debug)]
pub enum Refused {
    /// The key has paid for something else.
    OtherPayment,
    /// The book could not be written.
    Broken(io::Error),
}

pub struct Book(Mutex<Pages>);

struct Pages {
    file: File,
    entries: Vec<Entry>,
}

impl Book {
    /// Opens a book and reads it. A last line without its end is a payment that was never answered: it is cut off.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        let entry = |(index, line): (usize, &str)| {
            serde_json::from_str(line)
                .map_err(|problem| io::Error::other(format!("line {}: {problem}", index + 1)))
        };
        let entries = text[..whole].lines().enumerate().map(entry).collect::<Result<_, _>>()?;
        Ok(Self(Mutex::new(Pages { file, entries })))
    }

    pub fn note(&self, asked: Asked) -> io::Result<()> {
        self.pages().write(Entry::Asked(asked))
    }

    /// Pays, unless this key has paid before and is remembered. Returns the payment that answers the request, once it is on
    /// the disk, and whether it was made just now.
    pub fn pay(&self, payment: Payment, forget_keys: bool) -> Result<(Payment, bool), Refused> {
        let mut pages = self.pages();
        match pages.payment(&payment.effect_id).filter(|_| !forget_keys) {
            Some(known) if *known == payment => Ok((payment, false)),
            Some(_) => Err(Refused::OtherPayment),
            None => {
                let written = pages.write(Entry::Paid(payment.clone()));
                written.and_then(|()| pages.file.sync_data()).map_err(Refused::Broken)?;
                Ok((payment, true))
            }
        }
    }

    pub fn payment(&self, effect_id: &str) -> Option<Payment> {
        self.pages().payment(effect_id).cloned()
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.pages().entries.clone()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    fn write(&mut self, entry: Entry) -> io::Result<()> {
        let line = serde_json::to_string(&entry).map_err(io::Error::other)? + "\n";
        self.file.write_all(line.as_bytes())?;
        self.entries.push(entry);
        Ok(())
    }

    fn payment(&self, effect_id: &str) -> Option<&Payment> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Paid(payment) if payment.effect_id == effect_id => Some(payment),
            Entry::Paid(_) | Entry::Asked(_) => None,
        })
    }
}

//! One call: its events against each other, its row and its effects against their fold.

use super::{EVENT_COLUMNS, Findings, Terms};
use crate::domain::id::{CallId, Position, Version};
use crate::domain::law::{self, Facts, Happened, History, Law, StoredEffect, Violation};
use crate::domain::time::Timestamp;
use crate::store::cell::{Cell, differences};
use crate::store::chain::ChainHash;
use crate::store::codec;
use crate::store::counters::Tally;
use crate::store::projection::{CallRow, EffectRow, detail};
use crate::store::record::{Entry, Snapshot};

/// The longest event name that a hash can cover, in bytes: its length is one byte there.
const LONGEST_NAME: usize = u8::MAX as usize;

/// Takes the rows of one call: first its events by version, then its row, then its effects.
pub struct CallCheck {
    /// The id as it is stored.
    name: String,
    history: History,
    /// Whether every event so far could be read and was legal, so that there is a fold to compare with.
    folds: bool,
    /// Of the last event, as it is stored.
    chain: ChainHash,
    version: Version,
    position: Position,
    updated_at: Timestamp,
    row: bool,
    effects: Vec<StoredEffect>,
    found: Vec<Violation>,
}

impl CallCheck {
    /// Begins with the call that is stored under this id.
    pub fn new(name: &[u8]) -> Self {
        let name = String::from_utf8_lossy(name).into_owned();
        let parsed = name.parse::<CallId>();
        let mut check = Self {
            history: History::new(parsed.as_ref().map_or(CallId::from_bytes([0; 16]), |id| *id)),
            folds: parsed.is_ok(),
            name,
            chain: ChainHash::ROOT,
            version: Version::NONE,
            position: Position::START,
            updated_at: Timestamp::from_micros(0),
            row: false,
            effects: Vec::new(),
            found: Vec::new(),
        };
        if let Err(problem) = parsed {
            check.say(Law::LogIsTruth, "call_id", problem.to_string());
        }
        check
    }

    /// Takes the next event: a row of `audit`, its cells in the order of [`EVENT_COLUMNS`].
    pub fn event(&mut self, row: &[Cell<'_>; EVENT_COLUMNS.len()]) {
        let [id, ts, call_id, name, said, version, payload, hash] = row;
        let number = |cell: &Cell<'_>| cell.as_integer().and_then(|number| u64::try_from(number).ok());
        let next = self.version.next();
        self.version = number(version).map_or(next, Version);
        self.position = number(id).map_or(self.position, Position);
        // Where an event is missing, nothing tells what its hash was.
        let chained = self.version == next;
        for (column, cell) in [("audit.id", id), ("audit.version", version)] {
            if number(cell).is_none() {
                self.say_here(column, format!("is {cell}"));
            }
        }
        if *call_id != Cell::text(&self.name) {
            self.say_here("audit.call_id", format!("is {call_id}, and the index says {}", self.name));
        }
        match self.decode(payload) {
            Ok(entry) => {
                let shown = detail(&entry);
                for (column, found, expected) in [
                    ("audit.ts", ts, Cell::Real(entry.event.at().as_seconds())),
                    ("audit.event", name, Cell::text(entry.event.name())),
                    ("audit.detail", said, Cell::optional(shown.as_deref(), Cell::text)),
                ] {
                    if *found != expected {
                        self.say_here(column, format!("is {found}, and the payload makes {expected}"));
                    }
                }
                self.chain(chained, hash, entry.event.name(), entry.event.at(), &entry.payload);
                self.take(entry);
            }
            Err(problem) => {
                self.folds = false;
                self.say_here("audit.payload", problem);
                if let (Some(name), Cell::Real(ts), Some(payload)) = (name.as_text(), ts, payload.as_blob())
                    && name.len() <= LONGEST_NAME
                {
                    self.chain(chained, hash, name, Timestamp::from_seconds(*ts), payload);
                }
            }
        }
    }

    /// Takes the call's row of `calls`, its cells in the order of [`CallRow::COLUMNS`].
    pub fn row(&mut self, found: &[Cell<'_>; CallRow::COLUMNS.len()]) {
        self.row = true;
        if self.version == Version::NONE {
            self.say(Law::LogIsTruth, "calls", "there is a row, and the log has no event of the call".into());
        } else if self.folds {
            let folded = self.folded();
            let Some(expected) = CallRow::of(&folded) else { return };
            self.found.extend(differences(&CallRow::COLUMNS, found, &expected.cells()).map(
                |(column, problem)| {
                    let broken = Violation::new(Law::LogIsTruth, format!("calls.{column}"), problem);
                    Violation { call: Some(self.name.clone()), ..broken.at(self.version) }
                },
            ));
        }
    }

    /// Takes an effect of the call: a row of `effects`, its cells in the order of [`EffectRow::COLUMNS`].
    pub fn effect(&mut self, found: &[Cell<'_>; EffectRow::COLUMNS.len()]) {
        let [effect_id, _, _, amount, _] = found;
        self.effects.push(StoredEffect {
            effect_id: effect_id.as_text().map_or_else(|| effect_id.to_string(), Into::into),
            amount: amount.as_integer(),
        });
        if !self.folds {
            return;
        }
        let folded = self.folded();
        if let Some(expected) = EffectRow::of(&folded) {
            self.found.extend(differences(&EffectRow::COLUMNS, found, &expected.cells()).map(
                |(column, problem)| {
                    let broken = Violation::new(Law::LogIsTruth, format!("effects.{column}"), problem);
                    Violation { call: Some(self.name.clone()), ..broken.at(self.version) }
                },
            ));
        }
    }

    /// The call after the events so far, if they fold.
    fn folded(&self) -> Snapshot {
        Snapshot {
            call: self.history.last().clone(),
            version: self.version,
            updated_at: self.updated_at,
            chain: self.chain,
        }
    }

    /// Judges the call as a whole, and counts it as it was at `terms.upto`. Returns whether all of it could be folded: if
    /// not, nobody knows what the counters should be.
    pub fn finish(mut self, terms: Terms, counted: &mut Tally, findings: &mut Findings) -> bool {
        if self.version != Version::NONE && !self.row {
            let key = self.history.last().request().map(|request| request.key.to_string());
            let problem = match key {
                Some(key) => format!(
                    "the log has the call, and there is no row: its key `{key}` is taken for a new one"
                ),
                None => "the log has the call, and there is no row".into(),
            };
            self.say(Law::LogIsTruth, "calls", problem);
        }
        if self.folds || self.history.illegal().is_some() {
            let effects = Some(&self.effects[..]);
            let facts = Facts { effects, now: terms.now, ..Facts::of(&self.history) };
            self.found.extend(law::check_call(&facts));
        }
        counted.count(self.history.as_of(terms.upto));
        findings.extend(self.found);
        self.folds
    }

    fn decode(&self, payload: &Cell<'_>) -> Result<Entry, String> {
        let payload = payload.as_blob().ok_or_else(|| format!("is {payload}, and no bytes"))?;
        Ok(Entry {
            call_id: self.history.call_id(),
            version: self.version,
            event: codec::decode(payload).map_err(|problem| problem.to_string())?,
            payload: payload.to_vec(),
            hash: self.chain,
        })
    }

    /// Compares the hash of an event with that of the one before it. After one that is wrong, the chain goes on from what is
    /// stored, so that one change is told once.
    fn chain(&mut self, chained: bool, hash: &Cell<'_>, name: &str, at: Timestamp, payload: &[u8]) {
        let made = self.chain.next(self.history.call_id(), self.version, name, at, payload);
        let stored = hash.as_blob().and_then(|bytes| bytes.try_into().ok()).map(ChainHash::from_bytes);
        if chained && stored != Some(made) {
            self.say_here(
                "audit.hash",
                format!("is {hash}, and the event and the one before it make {made}"),
            );
        }
        self.chain = stored.unwrap_or(made);
    }

    /// Folds an event that could be read.
    fn take(&mut self, entry: Entry) {
        self.updated_at = entry.event.at();
        let Entry { version, event, .. } = entry;
        self.history.push(Happened { position: self.position, version, event });
        self.folds &= self.history.illegal().is_none();
    }

    fn say(&mut self, law: Law, member: &'static str, problem: String) {
        self.blame(Violation::new(law, member, problem));
    }

    /// Says it of the event at hand.
    fn say_here(&mut self, column: &'static str, problem: String) {
        let broken = Violation::new(Law::LogIsTruth, column, problem);
        self.blame(broken.at(self.version).in_log(self.position));
    }

    fn blame(&mut self, broken: Violation) {
        self.found.push(Violation { call: Some(self.name.clone()), ..broken });
    }
}

//! The row changes of one append, inside the writer's transaction.

use rusqlite::{Connection, Result, Row, Statement, params};

use super::change::Change;
use super::options::CrashPoint;
use super::row::{self, call_columns};
use crate::domain::event::Event;
use crate::domain::id::Version;
use crate::store::StoreError;
use crate::store::chain::ChainHash;
use crate::store::counters::Counter;
use crate::store::projection::{EffectRow, FixedColumns, StateColumns, detail};
use crate::store::record::{Entry, Snapshot};

/// What became of an append. None of it holds before the transaction is committed.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is in the log, its last event at this position.
    Appended(i64),
    /// The call has moved on, or its key is taken; nothing was written.
    Conflict(Box<Snapshot>),
    /// What is stored cannot be; nothing was written.
    Corrupt(StoreError),
}

/// The chain is compared too: a call at the right version but with another history is not the one that was read.
pub(super) const UPDATE_CALL: &str = "UPDATE calls SET status = ?4, result_json = ?5, error_json = ?6, attempt = ?7, \
     lease_until = ?8, owner = ?9, effect_id = ?10, updated_at = ?11, version = ?12, chain = ?13, held_since = ?14, \
     held_reason = ?15, due_at = ?16, open_attempt = ?17, effect_amount = ?18, checksum = ?19 \
     WHERE call_id = ?1 AND version = ?2 AND chain = ?3";

/// The statements of the writing connection, prepared once. There is no `OR IGNORE` and no `OR REPLACE` among them: a
/// violation of a constraint is never anybody's success.
pub(super) struct Statements<'c> {
    insert_call: Statement<'c>,
    update_call: Statement<'c>,
    insert_event: Statement<'c>,
    insert_effect: Statement<'c>,
    add_to_counter: Statement<'c>,
    insert_counter: Statement<'c>,
    by_key: Statement<'c>,
    by_id: Statement<'c>,
}

impl<'c> Statements<'c> {
    pub(super) fn prepare(db: &'c Connection) -> Result<Self> {
        Ok(Self {
            insert_call: db.prepare(concat!(
                "INSERT INTO calls (",
                call_columns!(),
                ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, \
                 ?20, ?21, ?22, ?23, ?24, ?25) ON CONFLICT (idem_key) DO NOTHING"
            ))?,
            update_call: db.prepare(UPDATE_CALL)?,
            insert_event: db.prepare(
                "INSERT INTO audit (ts, call_id, event, detail, version, payload, hash) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?,
            insert_effect: db.prepare(
                "INSERT INTO effects (effect_id, call_id, tool, amount, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?,
            add_to_counter: db.prepare("UPDATE counters SET value = value + ?2 WHERE name = ?1")?,
            insert_counter: db.prepare("INSERT INTO counters (name, value) VALUES (?1, ?2)")?,
            by_key: db.prepare(concat!("SELECT ", call_columns!(), " FROM calls WHERE idem_key = ?1"))?,
            by_id: db.prepare(concat!("SELECT ", call_columns!(), " FROM calls WHERE call_id = ?1"))?,
        })
    }

    /// Writes one append.
    ///
    /// # Errors
    /// SQLite's, after which the transaction is to be rolled back.
    pub(super) fn append(&mut self, change: &Change, crash: Option<&CrashPoint>) -> Result<Outcome> {
        let written = match change.expected {
            None => self.insert_call(change)?,
            Some((version, chain)) => self.update_call(change, version, &chain)?,
        };
        if !written {
            return self.conflict(change);
        }
        let mut position = 0;
        for entry in &change.entries {
            if let Some(crash) = crash {
                crash("store.between_calls_and_audit");
                crash(between_calls_and_audit(&entry.event));
            }
            position = self.insert_event(change, entry)?;
        }
        self.insert_effect(change)?;
        Ok(Outcome::Appended(position))
    }

    /// Adds what a batch moved to the counters.
    pub(super) fn count(&mut self, moves: impl Iterator<Item = (Counter, i64)>) -> Result<()> {
        for (counter, by) in moves.filter(|(_, by)| *by != 0) {
            let name = counter.to_string();
            if self.add_to_counter.execute(params![name, by])? == 0 {
                self.insert_counter.execute(params![name, by])?;
            }
        }
        Ok(())
    }

    /// Whether the key was free.
    fn insert_call(&mut self, change: &Change) -> Result<bool> {
        let Some(request) = change.after.call.request() else { return Ok(false) };
        let fixed = FixedColumns::of(request);
        let state = StateColumns::of(&change.after, request);
        let inserted = self.insert_call.execute(params![
            fixed.call_id,
            fixed.idem_key,
            fixed.fingerprint,
            fixed.client_id,
            fixed.seq,
            fixed.tool,
            fixed.args_json,
            state.status,
            state.result_json,
            state.error_json,
            state.attempt,
            state.lease_until,
            state.owner,
            state.effect_id,
            fixed.created_at,
            state.updated_at,
            state.version,
            state.chain,
            state.held_since,
            state.held_reason,
            state.due_at,
            state.open_attempt,
            state.effect_amount,
            fixed.fingerprint_scheme,
            change.checksum,
        ])?;
        Ok(inserted == 1)
    }

    /// Whether the call was at the version it was read at.
    fn update_call(&mut self, change: &Change, version: Version, chain: &ChainHash) -> Result<bool> {
        let Some(request) = change.after.call.request() else { return Ok(false) };
        let state = StateColumns::of(&change.after, request);
        let updated = self.update_call.execute(params![
            change.call_id,
            version.0.cast_signed(),
            chain.as_bytes(),
            state.status,
            state.result_json,
            state.error_json,
            state.attempt,
            state.lease_until,
            state.owner,
            state.effect_id,
            state.updated_at,
            state.version,
            state.chain,
            state.held_since,
            state.held_reason,
            state.due_at,
            state.open_attempt,
            state.effect_amount,
            change.checksum,
        ])?;
        Ok(updated == 1)
    }

    fn insert_event(&mut self, change: &Change, entry: &Entry) -> Result<i64> {
        self.insert_event.insert(params![
            entry.event.at().as_seconds(),
            change.call_id,
            entry.event.name(),
            detail(entry),
            entry.version.0.cast_signed(),
            entry.payload,
            entry.hash.as_bytes(),
        ])
    }

    /// A call that has an effect has no event after the one that records it, so an append leads there once.
    fn insert_effect(&mut self, change: &Change) -> Result<()> {
        if let Some(effect) = EffectRow::of(&change.after) {
            self.insert_effect.execute(params![
                effect.effect_id,
                effect.call_id,
                effect.tool,
                effect.amount,
                effect.created_at,
            ])?;
        }
        Ok(())
    }

    /// The call that is in the way, as this transaction sees it.
    fn conflict(&mut self, change: &Change) -> Result<Outcome> {
        let read = |row: &Row<'_>| Ok(row::snapshot(row));
        let current = match (change.expected, change.after.call.request()) {
            (None, Some(request)) => self.by_key.query_row([request.key.as_str()], read),
            (None, None) | (Some(_), _) => self.by_id.query_row([&change.call_id], read),
        };
        let corrupt = |problem: String| Outcome::Corrupt(StoreError::Corrupt(problem));
        Ok(match current {
            Ok(Ok(current)) if change.expected.is_some_and(|(version, _)| version == current.version) => {
                corrupt(format!("the call {} was read from another log", change.call_id))
            }
            Ok(Ok(current)) => Outcome::Conflict(Box::new(current)),
            Ok(Err(damaged)) => Outcome::Corrupt(damaged),
            Err(rusqlite::Error::QueryReturnedNoRows) => {
                corrupt(format!("the call {} is gone", change.call_id))
            }
            Err(error) => return Err(error),
        })
    }
}

/// The crash point of one kind of event.
const fn between_calls_and_audit(event: &Event) -> &'static str {
    match event {
        Event::Created { .. } => "store.between_calls_and_audit.created",
        Event::Claimed { .. } => "store.between_calls_and_audit.claimed",
        Event::Succeeded { .. } => "store.between_calls_and_audit.succeeded",
        Event::Failed { .. } => "store.between_calls_and_audit.failed",
        Event::RetryReset { .. } => "store.between_calls_and_audit.retry_reset",
        Event::Recover { .. } => "store.between_calls_and_audit.recover",
    }
}

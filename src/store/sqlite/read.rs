//! The reads, on one connection, in short transactions.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use super::connection::{self, Role};
use super::error::read_error;
use super::paths;
use super::row::{self, call_columns, event_columns};
use crate::domain::id::{CallId, IdemKey, Position, Version};
use crate::domain::time::Timestamp;
use crate::store::chain::ChainHash;
use crate::store::counters::Counter;
use crate::store::record::{Recorded, Snapshot};
use crate::store::{Stats, StoreError};

pub(super) const LOAD: &str = concat!("SELECT ", call_columns!(), " FROM calls WHERE call_id = ?1");
pub(super) const FIND: &str = concat!("SELECT ", call_columns!(), " FROM calls WHERE idem_key = ?1");
pub(super) const HASH: &str = "SELECT hash FROM audit WHERE call_id = ?1 AND version = ?2";
pub(super) const END: &str = "SELECT version, chain FROM calls WHERE call_id = ?1";
pub(super) const HISTORY: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM audit WHERE call_id = ?1 AND version > ?2 ORDER BY version LIMIT ?3"
);
pub(super) const SCAN: &str =
    concat!("SELECT ", event_columns!(), " FROM audit WHERE id > ?1 ORDER BY id LIMIT ?2");

/// One reading connection.
pub(super) struct Reads {
    pub(super) db: Connection,
    wal: PathBuf,
    /// Damage that was logged, at most [`MOST_TOLD`]: what is to be done is looked up several times a second.
    told: RefCell<HashSet<String>>,
}

/// Damaged rows that are logged one by one. With more of them, one more line tells a person nothing new.
const MOST_TOLD: usize = 100;

impl Reads {
    pub(super) fn open(path: &Path, busy_timeout: Duration) -> rusqlite::Result<Self> {
        Ok(Self {
            db: connection::open(path, Role::Reader, busy_timeout)?,
            wal: paths::beside(path, "-wal"),
            told: RefCell::default(),
        })
    }

    /// The call that a row shows; if it is damaged it is left out and logged, so that it stays where it is and is in no
    /// other call's way.
    pub(super) fn unless_damaged(&self, row: &Row<'_>) -> Result<Option<Snapshot>, StoreError> {
        match row::snapshot(row) {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(StoreError::Corrupt(problem)) => {
                let mut told = self.told.borrow_mut();
                if told.len() < MOST_TOLD && told.insert(problem.clone()) {
                    tracing::error!("a call is damaged and will not be run: {problem}");
                }
                Ok(None)
            }
            Err(error @ (StoreError::Unavailable(_) | StoreError::Full(_))) => Err(error),
        }
    }

    pub(super) fn load(&self, id: CallId) -> Result<Option<Snapshot>, StoreError> {
        self.one(LOAD, [id.to_string()])
    }

    pub(super) fn find(&self, key: &IdemKey) -> Result<Option<Snapshot>, StoreError> {
        self.one(FIND, [key.as_str()])
    }

    /// The events of a call, each proved by the hash that chains it to the one before, and the last one by the call's row: an
    /// index that leads past the rest would make a history that is too short, and looks whole.
    pub(super) fn history(
        &self,
        id: CallId,
        after: Version,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        // Events and row of one moment.
        let transaction = self.db.unchecked_transaction().map_err(|error| read_error(&error))?;
        let (id, version) = (id.to_string(), after.0.cast_signed());
        let end = self.all(END, [&id], |row| {
            let end = (|| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?)))();
            end.map_err(|error| read_error(&error))
        })?;
        let end = end
            .first()
            .map(|(version, chain)| (Version(version.cast_unsigned()), ChainHash::from_bytes(*chain)));
        let beyond_the_end = end.is_none_or(|(end, _)| end < after);
        let mut last = match after {
            Version::NONE => ChainHash::ROOT,
            Version(_) => {
                let hash = self.value::<[u8; 32]>(HASH, (&id, version))?;
                let Some(hash) = hash else {
                    return if beyond_the_end { Ok(vec![]) } else { Err(too_short(&id, after)) };
                };
                ChainHash::from_bytes(hash)
            }
        };
        let events = self.all(HISTORY, (&id, version, sql_limit(limit)), row::recorded)?;
        let mut expected = after;
        for Recorded { position, entry } in &events {
            expected = expected.next();
            let event = &entry.event;
            let hash = last.next(entry.call_id, entry.version, event.name(), event.at(), &entry.payload);
            if (entry.version, entry.hash) != (expected, hash) {
                return Err(StoreError::Corrupt(format!(
                    "the event at position {position} does not follow the one before it in its call"
                )));
            }
            last = hash;
        }
        // Nothing was written, so there is nothing that ending it could lose.
        drop(transaction);
        match end {
            Some(end) if events.len() < limit && !beyond_the_end && end != (expected, last) => {
                Err(too_short(&id, expected))
            }
            Some(_) | None => Ok(events),
        }
    }

    pub(super) fn scan(&self, after: Position, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.all(SCAN, (after.0.cast_signed(), sql_limit(limit)), row::recorded)
    }

    /// The numbers of one moment.
    pub(super) fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        let transaction = self.db.unchecked_transaction().map_err(|error| read_error(&error))?;
        let mut stats = Stats::default();
        let counters = self.all("SELECT name, value FROM counters", [], |row| {
            let name: String = row.get(0).map_err(|error| read_error(&error))?;
            let value: i64 = row.get(1).map_err(|error| read_error(&error))?;
            Counter::parse(&name)
                .zip(u64::try_from(value).ok())
                .ok_or_else(|| StoreError::Corrupt(format!("the counter `{name}` is {value}")))
        })?;
        for (counter, value) in counters {
            stats.take_in(counter, value);
        }
        stats.position = self
            .value::<i64>("SELECT id FROM audit ORDER BY id DESC LIMIT 1", [])?
            .map(|position| Position(position.cast_unsigned()));
        stats.oldest_pending = self.value(super::due::OLDEST_PENDING, [])?.map(Timestamp::from_seconds);
        let over: i64 = self.value(super::due::LEASES_OVER, [now.as_seconds()])?.unwrap_or_default();
        stats.lease_over = over.cast_unsigned();
        // Nothing was written, so there is nothing that ending it could lose.
        drop(transaction);
        stats.wal_bytes = self.wal.metadata().map_or(0, |wal| wal.len());
        Ok(stats)
    }

    /// The call that `sql` finds.
    fn one(&self, sql: &str, params: impl Params) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.all(sql, params, row::snapshot)?.pop())
    }

    /// What `sql` finds, read row by row.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let find = || -> rusqlite::Result<Vec<Result<T, StoreError>>> {
            let mut statement = self.db.prepare_cached(sql)?;
            statement.query_map(params, |row| Ok(read(row)))?.collect()
        };
        find().map_err(|error| read_error(&error))?.into_iter().collect()
    }

    /// The one value that `sql` finds.
    pub(super) fn value<T: rusqlite::types::FromSql>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Result<Option<T>, StoreError> {
        let find = || self.db.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional();
        find().map_err(|error| read_error(&error))
    }
}

fn too_short(id: &str, version: Version) -> StoreError {
    StoreError::Corrupt(format!("the events of {id} end at version {version}, and its row does not"))
}

/// A limit as SQLite takes it.
pub(super) fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

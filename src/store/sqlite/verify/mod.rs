//! Reads a database file for verification, beside a running server or stopped: short transactions, a few threads, little
//! memory.
//!
//! First of all, one transaction fixes how far the log goes and reads the counters of that moment. Then the work is cut into
//! pieces that threads take one after the other: the positions in order, the index of keys, and ranges of calls. A call is read
//! in one transaction with its row and its effects, so it is judged as of one moment, whatever is appended meanwhile; for the
//! counters it is folded up to the position that was fixed.

mod key;
mod keys;
mod positions;
pub(super) mod schema;
mod start;
mod walk;

use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rusqlite::Connection;

use super::connection::{self, Role};
use super::error::{Meaning, describe, meaning, open_error, read_error};
use super::options::{BUSY_TIMEOUT, OpenError};
use super::{migrate, paths};
use crate::domain::law::{Law, Violation};
use crate::domain::time::Timestamp;
use crate::store::StoreError;
use crate::store::counters::{Counter, Tally};
use crate::store::verify::{Findings, Report, Terms, check_counters};
use schema::Difference;
use start::Start;
use walk::Range;
pub(super) use walk::{cell, cells};

/// The most threads that read: more would take the machine from a server that is at work on it.
const MOST_THREADS: usize = 4;
/// Rows that are read in one transaction: some tens of milliseconds, so that no transaction keeps the WAL from beginning
/// anew.
const ROWS_AT_ONCE: usize = 20_000;

/// Told now and then how many of how many events have been looked at.
pub type Progress<'a> = dyn Fn(u64, u64) + Sync + 'a;

/// Why nothing could be verified. A broken law is no error: it is in the [`Report`].
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] StoreError),
}

/// Checks every law on the database at `path`; writes nothing.
///
/// `now` is the instant, where a server is at work on the database.
///
/// # Errors
/// [`VerifyError`] if it is no database of this program, or cannot be read for another reason than damage.
pub fn verify(path: &Path, now: Option<Timestamp>, progress: &Progress<'_>) -> Result<Report, VerifyError> {
    let path = paths::resolve(path)?;
    migrate::expect_ours(&path, BUSY_TIMEOUT)?;
    let sqlite = |error: rusqlite::Error| open_error(&path, &error);
    let db = connection::open(&path, Role::Reader, BUSY_TIMEOUT).map_err(sqlite)?;
    let mut report = Report::default();
    let differences = schema::differences(&db).map_err(|error| read_error(&error))?;
    report.findings.extend(differences.iter().map(Violation::from));
    if differences.iter().any(Difference::is_table) {
        report.unchecked.push("everything else, because a table is not as it was made".into());
        return Ok(report);
    }
    // Damage that SQLite itself notices is a finding, and the rest is looked at all the same.
    let start = match Start::read(&path, &db, &mut report) {
        Ok(start) => start,
        Err(error) => {
            report.findings.push(damage(&error, "the tables")?);
            return Ok(report);
        }
    };
    let terms = Terms { upto: start.position, now };
    let parts = read_all(&path, &start, terms, progress)?;
    parts.conclude(&db, &start, &mut report)?;
    Ok(report)
}

/// What there is to do.
#[derive(Debug)]
enum Piece {
    Positions,
    Keys,
    Calls(Range),
}

/// What has been done.
#[derive(Debug, Default)]
struct Parts {
    findings: Findings,
    /// Events up to the position that was fixed: as they are counted by position, and by call.
    by_position: u64,
    by_call: u64,
    /// Which keys lead to which rows: as the rows say, and as the index of keys says.
    keys_of_rows: keys::Sum,
    keys_of_index: keys::Sum,
    /// What the folded calls add up to; nothing if one could not be folded.
    counted: Tally,
    unfolded: u64,
    /// Pieces that could not be read to the end, so that nothing adds up.
    failed: u64,
}

/// Takes piece after piece, on a few threads.
fn read_all(path: &Path, start: &Start, terms: Terms, progress: &Progress<'_>) -> Result<Parts, VerifyError> {
    let ranges = start.ranges.iter().cloned().map(Piece::Calls);
    let pieces: Vec<_> = [Piece::Positions, Piece::Keys].into_iter().chain(ranges).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let (next, seen, all) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::new(Parts::default()));
    let tell = |events: usize| {
        progress(seen.fetch_add(events as u64, Ordering::Relaxed) + events as u64, start.position.0);
    };
    let work = || -> Result<(), VerifyError> {
        let db =
            connection::open(path, Role::Reader, BUSY_TIMEOUT).map_err(|error| open_error(path, &error))?;
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut part = Parts::default();
            if let Err(error) = piece.read(&db, start, terms, &tell, &mut part) {
                part.findings.push(damage(&error, &piece.name())?);
                part.failed += 1;
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).add(part);
        }
        Ok(())
    };
    std::thread::scope(|scope| -> Result<(), VerifyError> {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            let panicked = |_| StoreError::Unavailable("a reading thread panicked".into());
            thread.join().map_err(panicked)?
        })
    })?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// An error of SQLite as a broken fact, if it is about what is stored.
fn damage(error: &rusqlite::Error, what: &str) -> Result<Violation, StoreError> {
    match meaning(error) {
        Meaning::Culprit => {
            let problem = format!("{what} cannot be read to the end: {}", describe(error));
            Ok(Violation::new(Law::LogIsTruth, "file", problem))
        }
        Meaning::Full | Meaning::Busy | Meaning::Fatal => Err(read_error(error)),
    }
}

/// What was found, or that it could not be read.
fn told(found: rusqlite::Result<Vec<Violation>>) -> Result<Vec<Violation>, StoreError> {
    found.or_else(|error| Ok(vec![damage(&error, "the tables")?]))
}

/// What is said of an index whose entries go back, so that nobody follows it in a circle.
fn out_of_order() -> rusqlite::Error {
    let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(corrupt, Some("it is not in order".into()))
}

impl Piece {
    fn read(
        &self,
        db: &Connection,
        start: &Start,
        terms: Terms,
        tell: &dyn Fn(usize),
        part: &mut Parts,
    ) -> rusqlite::Result<()> {
        match self {
            Self::Positions => positions::read(db, start, part),
            Self::Keys => keys::read(db, start, part),
            Self::Calls(range) => walk::read(db, range, start, terms, tell, part),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Positions => "the log by position".into(),
            Self::Keys => "the index of keys".into(),
            Self::Calls(range) => format!("the calls {range}"),
        }
    }
}

impl Parts {
    fn add(&mut self, other: Self) {
        self.findings.merge(other.findings);
        self.by_position += other.by_position;
        self.by_call += other.by_call;
        self.keys_of_rows.add(other.keys_of_rows);
        self.keys_of_index.add(other.keys_of_index);
        self.counted.add(&other.counted);
        self.unfolded += other.unfolded;
        self.failed += other.failed;
    }

    /// Compares what only all pieces together tell.
    fn conclude(self, db: &Connection, start: &Start, report: &mut Report) -> Result<(), VerifyError> {
        let number = |counter| self.counted.get(counter).unsigned_abs();
        report.position = start.position;
        report.events = self.by_position;
        (report.calls, report.effects) = (number(Counter::Calls), number(Counter::Effects));
        report.findings.merge(self.findings);
        if self.failed > 0 {
            report.unchecked.push("whether it all adds up, because not all of it could be read".into());
            return Ok(());
        }
        match self.unfolded {
            0 => report.findings.merge(check_counters(&start.counters(), &self.counted)),
            _ => report.unchecked.push("the counters, because not all calls could be folded".into()),
        }
        if self.by_call != self.by_position {
            report.findings.extend(told(positions::strays(db, start))?);
        }
        if self.keys_of_rows != self.keys_of_index {
            report.findings.extend(told(keys::strays(db))?);
        }
        Ok(())
    }
}

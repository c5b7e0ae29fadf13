//! Makes `calls`, `effects` and `counters` again from the log, or compares them with what the log makes.
//!
//! One thread reads and folds, this one writes or compares, and between them is a short queue: neither holds more than a few
//! hundred calls. A rebuild is one transaction, so whoever looks, and whatever happens to this process, finds the old tables
//! whole or the new ones. No server can be at work meanwhile: the lock is taken.

mod compare;
mod fold;
mod replace;

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::connection::{self, Role};
use super::error::{describe, open_error, read_error};
use super::lock::Lock;
use super::options::{DataLoss, OpenError, Options};
use super::verify::Progress;
use super::verify::schema;
use super::{checkpoint, filesystem, migrate, open, paths, version};
use crate::domain::id::Position;
use crate::domain::law::Violation;
use crate::store::StoreError;
use crate::store::counters::Counter;
use crate::store::rebuild::{Made, Rebuilt, Target};
use crate::store::verify::Findings;
use compare::Compare;
use fold::Folded;
use replace::Replace;

/// The point at which half of the log is folded and its rows are written, and nothing is committed.
pub const HALF_WAY: &str = "rebuild.half_way";
/// Rows that travel together between the threads, and how often they wait for each other.
const ROWS_IN_A_CHUNK: usize = 256;
/// Chunks that wait to be written: enough to even out a page that takes long, some megabytes of memory.
const CHUNKS: usize = 8;

/// Why the tables were not made again. They are as they were.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The database cannot be opened, or another program has it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read or written; `Corrupt` names the event of the log that is not to be believed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replaces the tables of the database at `path` by what its log makes. Nothing changes unless all of the log can be folded.
///
/// Of the `options`, `accept_data_loss` and `on_fatal` mean nothing here.
///
/// # Errors
/// See [`RebuildError`].
pub fn rebuild(path: &Path, options: &Options, progress: &Progress<'_>) -> Result<Rebuilt, RebuildError> {
    let (path, _lock) = take(path, options)?;
    let sqlite = |error: rusqlite::Error| open_error(&path, &error);
    let db = connection::open(&path, Role::Writer, options.busy_timeout).map_err(sqlite)?;
    let begin = Transaction::new_unchecked(&db, TransactionBehavior::Immediate);
    // Rolled back when it is dropped, which is what every early return does.
    let transaction = begin.map_err(sqlite)?;
    let mut crash = options.crash_point.clone();
    let half_way = |seen, of| {
        if let Some(crash) = crash.take_if(|_| seen * 2 >= of) {
            crash(HALF_WAY);
        }
    };
    let rebuilt = {
        let differences = schema::differences(&transaction).map_err(|error| read_error(&error))?;
        open::expect_a_log(&path, &differences)?;
        let mut target = Replace::begin(&transaction, &differences).map_err(|error| read_error(&error))?;
        let rebuilt = run(&path, options, progress, half_way, &mut target)?;
        target.finish().map_err(|error| read_error(&error))?;
        rebuilt
    };
    // After the fold, which names the event that is wrong where there is one.
    refuse_a_shorter_log(&path, &transaction)?;
    transaction.commit().map_err(|error| read_error(&error))?;
    leave_one_file(db);
    Ok(rebuilt)
}

/// The rows of calls whose events are missing are the last trace of them: they must not be replaced by nothing.
fn refuse_a_shorter_log(path: &Path, db: &Connection) -> Result<(), OpenError> {
    match open::compare_with_head(path, db, false) {
        Ok(_) => Ok(()),
        // A copy of a database has no head file, and is no worse for it.
        Err(OpenError::DataLoss { loss: DataLoss::NoHead { .. }, .. }) => Ok(()),
        Err(shorter) => Err(shorter),
    }
}

/// Compares the tables of the database at `path` with what its log makes, and changes nothing.
///
/// # Errors
/// See [`RebuildError`]. A difference is no error: it is in [`Rebuilt::findings`].
pub fn compare(path: &Path, options: &Options, progress: &Progress<'_>) -> Result<Rebuilt, RebuildError> {
    let (path, _lock) = take(path, options)?;
    let sqlite = |error: rusqlite::Error| open_error(&path, &error);
    let db = connection::open(&path, Role::Reader, options.busy_timeout).map_err(sqlite)?;
    let mut findings = Findings::default();
    let differences = schema::differences(&db).map_err(|error| read_error(&error))?;
    findings.extend(differences.iter().map(Violation::from));
    if differences.iter().any(|difference| difference.is_table() && difference.is_missing) {
        let unchecked = vec!["everything else, because a table is missing".into()];
        return Ok(Rebuilt {
            position: Position::START,
            events: 0,
            calls: 0,
            effects: 0,
            findings,
            unchecked,
        });
    }
    let rebuilt =
        Compare::with(&db, &mut findings, |target| run(&path, options, progress, |_, _| {}, target))?;
    Ok(Rebuilt { findings, ..rebuilt })
}

/// The database's one path and its lock, once it is sure that it is one of this program's.
fn take(path: &Path, options: &Options) -> Result<(PathBuf, Lock), OpenError> {
    let path = paths::resolve(path)?;
    version::guard(&path, rusqlite::version_number())?;
    filesystem::guard(&path, filesystem::kind(paths::folder(&path))?, options.allow_network_filesystem)?;
    // First of all, for taking the lock makes a file.
    migrate::expect_ours(&path, options.busy_timeout)?;
    paths::guard_access(&path)?;
    let lock = Lock::take(&path, &options.holder)?;
    Ok((path, lock))
}

/// Hands all that the log makes to `target`.
fn run(
    path: &Path,
    options: &Options,
    progress: &Progress<'_>,
    mut passed: impl FnMut(u64, u64),
    target: &mut impl Target,
) -> Result<Rebuilt, RebuildError> {
    let log = connection::open(path, Role::Reader, options.busy_timeout)
        .map_err(|error| open_error(path, &error))?;
    let position = fold::last_position(&log)?;
    let (send, receive) = sync_channel::<(Vec<Made>, u64)>(CHUNKS);
    let folded = std::thread::scope(|scope| -> Result<Folded, StoreError> {
        let folding = scope.spawn(move || fold::fold(&log, &send));
        let written = receive.iter().try_for_each(|(chunk, seen)| -> Result<(), StoreError> {
            chunk.iter().try_for_each(|made| made.hand_to(target))?;
            progress(seen, position.0);
            passed(seen, position.0);
            Ok(())
        });
        // Without a receiver, the other thread ends at its next chunk.
        drop(receive);
        let folded =
            folding.join().map_err(|_| StoreError::Unavailable("the folding thread panicked".into()))?;
        written.and(folded)
    })?;
    target.counters(&folded.counted)?;
    let number = |counter| folded.counted.get(counter).unsigned_abs();
    Ok(Rebuilt {
        position,
        events: folded.events,
        calls: number(Counter::Calls),
        effects: number(Counter::Effects),
        findings: Findings::default(),
        unchecked: vec![],
    })
}

/// Copies the WAL into the file, so that it is as a server leaves it. What is committed is durable without it.
fn leave_one_file(db: Connection) {
    match checkpoint::truncate(&db) {
        Ok(progress) if !progress.busy => drop(connection::checkpoint_on_close(&db, true)),
        Ok(_) => tracing::warn!("the WAL stays: another program is reading the database"),
        Err(error) => tracing::warn!("the last checkpoint failed: {}", describe(&error)),
    }
    if let Err((_, error)) = db.close() {
        tracing::warn!("the database did not close: {}", describe(&error));
    }
}

/// The position as SQLite stores it.
fn sql_position(position: i64) -> Position {
    Position(u64::try_from(position).unwrap_or(0))
}

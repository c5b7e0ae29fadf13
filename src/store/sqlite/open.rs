//! What has to be true before the first answer? Every check at start-up, in the order in which they protect each other.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tokio::sync::{mpsc, watch};

use super::append::Statements;
use super::checkpoint::{self, Checkpointer};
use super::connection::{self, Role};
use super::error::{Fatal, Meaning, describe, meaning, open_error};
use super::head::{self, Head, HeadFile};
use super::head_keeper::HeadKeeper;
use super::lock::Lock;
use super::migrate::Found;
use super::options::{DataLoss, OpenError, Options, Weakness};
use super::reserve::Reserve;
use super::verify::schema::{self, Difference};
use super::writer::{self, Message, Stopped, Writer};
use super::{SqliteStore, filesystem, migrate, paths, reader, version};
use crate::domain::id::Position;
use crate::store::chain::ChainHash;

pub(super) fn open(path: &Path, options: Options) -> Result<SqliteStore, OpenError> {
    let path = paths::resolve(path)?;
    version::guard(&path, rusqlite::version_number())?;
    filesystem::guard(&path, filesystem::kind(paths::folder(&path))?, options.allow_network_filesystem)?;
    paths::guard_access(&path)?;
    let lock = Lock::take(&path, &options.holder)?;
    let mut reserve = Reserve::open(&path);
    let found = migrate::guard(&path, options.busy_timeout)?;
    if found == Found::Nothing && !head::file_name(&path).exists() {
        // Before there is a database: so one without a head is never a new one, whenever this process is killed.
        HeadFile::create(&path, Head::EMPTY).map_err(io(head::file_name(&path)))?;
    }
    let sqlite = |error: rusqlite::Error| open_error(&path, &error);
    let mut db = connection::open(&path, Role::Writer, options.busy_timeout).map_err(sqlite)?;
    connection::keep_at_hand(&db, options.page_cache).map_err(sqlite)?;
    if options.has(Weakness::NoSync) {
        connection::never_sync(&db).map_err(sqlite)?;
    }
    let crash = options.crash_point.clone();
    migrate::migrate(&path, &db, &|point| {
        if let Some(crash) = &crash {
            crash(point);
        }
    })?;
    // What is refused here, its WAL too, is left as it was found.
    expect_whole_schema(&path, &db)?;
    let (head, accepted_loss) = compare_with_head(&path, &db, options.accept_data_loss)?;
    if !options.has(Weakness::NoCheckpointAtStart) {
        make_durable(&path, &db, &mut reserve)?;
        migrate::prove_writable(&path, &db)?;
    }

    let head_file = HeadFile::create(&path, head).map_err(io(head::file_name(&path)))?;
    if let Err(error) = reserve.refill() {
        let database = path.display();
        tracing::warn!(%database, "{error}: nothing new is accepted until there is space to keep aside");
    }
    let fatal = Fatal::new(&path, options.on_fatal);
    let readers = reader::Threads::start(&path, options.busy_timeout).map_err(sqlite)?;
    let reader = readers.reader();
    let checkpointer = Checkpointer::start(&path, &mut db, fatal.clone()).map_err(sqlite)?;
    let head_keeper = HeadKeeper::start(head_file, head, fatal.clone()).map_err(io(path.clone()))?;
    let (writer, queue) = mpsc::channel(writer::QUEUE);
    let (alive, ended) = watch::channel(());
    let work =
        Work { db, queue, readers, checkpointer, head_keeper, crash: options.crash_point, fatal, lock };
    let thread = std::thread::Builder::new().name("store-write".into());
    let thread = thread.spawn(move || {
        work.run(reserve);
        drop(alive);
    });
    let thread = thread.map_err(io(path))?;
    Ok(SqliteStore { writer: Some(writer), reader, thread: Some(thread), ended, accepted_loss })
}

/// What an error of the file at `path` means.
fn io(path: PathBuf) -> impl FnOnce(std::io::Error) -> OpenError {
    move |error| OpenError::Storage { path, problem: error.to_string() }
}

/// Copies what a crash left in the WAL into the database and fsyncs it. Until then it may be in the operating system's
/// cache alone, and an answer that shows it could be taken back by a power cut.
fn make_durable(path: &Path, db: &Connection, reserve: &mut Reserve) -> Result<(), OpenError> {
    let progress = loop {
        // It waits for readers as long as the busy timeout.
        match checkpoint::truncate(db) {
            Ok(progress) => break progress,
            // The database grows before the WAL is cut off, which then gives back more than that took.
            Err(error) if meaning(&error) == Meaning::Full && reserve.give() => {}
            Err(error) => return Err(open_error(path, &error)),
        }
    };
    match progress.busy {
        false => Ok(()),
        true => Err(OpenError::Storage {
            path: path.to_owned(),
            problem: format!(
                "its WAL cannot be emptied ({} of {} pages are copied) because another program is reading or writing it; \
                 close that program and start again",
                progress.copied, progress.pages
            ),
        }),
    }
}

/// A table, index or trigger that is gone takes with it what it enforces, and nobody would notice.
pub(super) fn expect_whole_schema(path: &Path, db: &Connection) -> Result<(), OpenError> {
    let sqlite = |error: rusqlite::Error| open_error(path, &error);
    let differences = schema::differences(db).map_err(sqlite)?;
    expect_a_log(path, &differences)?;
    // Damage that leaves the words as they are shows where they are used.
    let Some(first) = differences.first() else { return Statements::prepare(db).map(drop).map_err(sqlite) };
    let way_out = match first.repair() {
        Some(_) => "`callonce rebuild` puts it right",
        // It may no longer enforce what it did, or be of no use to the writer.
        None => "restore a backup",
    };
    let problem = format!("its {} {}", first.name, first.problem);
    Err(OpenError::Refused { path: path.to_owned(), problem, way_out: way_out.into() })
}

/// Everything else can be made from it.
pub(super) fn expect_a_log(path: &Path, differences: &[Difference]) -> Result<(), OpenError> {
    let gone = differences.iter().find(|difference| difference.is_the_log() && difference.is_missing);
    let Some(log) = gone else { return Ok(()) };
    let problem = format!("its {} is missing, and nothing can be made again without it", log.name);
    Err(OpenError::Refused { path: path.to_owned(), problem, way_out: "restore a backup".into() })
}

/// The log's head, once it is as long as it is known to have been, or the loss is accepted.
pub(super) fn compare_with_head(
    path: &Path,
    db: &Connection,
    accept: bool,
) -> Result<(Head, Option<DataLoss>), OpenError> {
    let known = HeadFile::read(path).map_err(io(head::file_name(path)))?;
    let (last, missing) = log_beside(&known, db).map_err(|error| open_error(path, &error))?;
    match missing {
        None => Ok((last, None)),
        Some(loss) if accept => {
            tracing::warn!(database = %path.display(), "data loss accepted: {loss}");
            Ok((last, Some(loss)))
        }
        Some(loss) => Err(OpenError::DataLoss { path: path.to_owned(), loss }),
    }
}

/// The log's last event, and what the log lacks of what its head file says. That has to be read before: the log only grows, so
/// a head that is read later could be ahead of it for good reason.
pub(super) fn log_beside(
    known: &Result<Head, String>,
    db: &Connection,
) -> rusqlite::Result<(Head, Option<DataLoss>)> {
    let last = event_hash(db, None)?.unwrap_or(Head::EMPTY);
    let there = match known {
        Ok(head) => event_hash(db, Some(head.position))?.map(|head| head.hash),
        Err(_) => None,
    };
    Ok((last, head::missing(known, last, there)))
}

/// The event at `position`, or the last one.
fn event_hash(db: &Connection, position: Option<Position>) -> rusqlite::Result<Option<Head>> {
    use rusqlite::OptionalExtension as _;
    let position = position.map(|position| position.0.cast_signed());
    db.query_row(
        "SELECT id, hash FROM audit WHERE ?1 IS NULL OR id = ?1 ORDER BY id DESC LIMIT 1",
        [position],
        |row| {
            let position: i64 = row.get(0)?;
            Ok(Head {
                position: Position(position.cast_unsigned()),
                hash: ChainHash::from_bytes(row.get::<_, [u8; 32]>(1)?),
            })
        },
    )
    .optional()
}

/// All that the writer thread owns while it lives, and puts in order before it ends.
struct Work {
    db: Connection,
    queue: mpsc::Receiver<Message>,
    readers: reader::Threads,
    checkpointer: Checkpointer,
    head_keeper: HeadKeeper,
    crash: Option<super::CrashPoint>,
    fatal: Fatal,
    lock: Lock,
}

impl Work {
    fn run(mut self, reserve: Reserve) {
        let _guard = self.fatal.on_panic("the writer");
        let worked = match Writer::new(&self.db, reserve, self.crash.take(), self.fatal.clone()) {
            Ok(mut writer) => writer.run(&mut self.queue, &mut self.checkpointer, &self.head_keeper),
            Err(error) => {
                self.fatal.stop("preparing the writer", &describe(&error));
                Err(Stopped)
            }
        };
        // Whoever still waits in the queue is not answered before the end, and not after it either.
        if worked.is_ok() {
            self.finish();
        }
    }

    /// Leaves the database as one file, with a head that covers all of it, for the next server.
    fn finish(self) {
        self.readers.stop();
        self.checkpointer.stop();
        match checkpoint::truncate(&self.db) {
            // The WAL is empty and all of it durable in the file: now it may be removed.
            Ok(progress) if !progress.busy => drop(connection::checkpoint_on_close(&self.db, true)),
            Ok(_) => tracing::warn!("the WAL stays: another program is reading the database"),
            // What was acknowledged is durable in the WAL, which stays; the next start copies it.
            Err(error) if meaning(&error) != Meaning::Fatal => {
                tracing::warn!("the last checkpoint failed: {}", describe(&error));
            }
            Err(error) => return self.fatal.stop("the last checkpoint", &describe(&error)),
        }
        if let Err((_, error)) = self.db.close() {
            tracing::warn!("the database did not close: {}", describe(&error));
        }
        self.head_keeper.stop();
        drop(self.lock);
    }
}

//! How does the WAL stay small while nobody waits for it?
//!
//! A commit appends pages to the WAL; a checkpoint copies them into the database file, and once all are copied the next
//! commit begins the WAL anew. Three parties keep that going:
//!
//! - This thread copies, on its own connection, whenever enough pages have come in. It holds up nobody. But while commits
//!   keep coming it never catches the last of them, so by itself the WAL would grow for ever.
//! - So once the WAL is beyond its bound and this thread has copied nearly all of it, the writer copies the short rest
//!   between two batches, and its next commit begins the WAL anew.
//! - When the writer is quiet, this thread cuts a large WAL off, so that a burst leaves no large file behind.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::connection::{self, Role};
use super::error::{Fatal, Meaning, describe, meaning};

/// New pages (of 4 KiB) that are worth a copy: often enough to stay near the end of the WAL, seldom enough that a page
/// which is written again and again is copied once for many.
const COPY_EVERY_PAGES: u32 = 4_000;
/// The size at which the WAL has to begin anew: 64 MiB. Larger, and a restart after a crash has more to read; smaller, and
/// the writer would stop for the rest more often.
const BOUND_PAGES: u32 = 16_384;
/// The most the writer copies itself at the bound: 2 MiB, a few milliseconds.
const SHORT_REST_PAGES: u32 = 512;
/// Beyond the bound the writer takes on a longer rest, this part of the excess: where pages come in faster than the thread
/// copies them, the rest is never short, and the WAL settles where the two meet.
const REST_OF_EXCESS: u32 = 2;
/// New pages before the writer tries again, when a reader kept the WAL from beginning anew.
const RETRY_EVERY_PAGES: u32 = 512;
/// Copies in a row that bring the rest down to a short one; each leaves what came in during the one before.
const COPIES_IN_A_ROW: usize = 4;
/// How long the writer has to be quiet before a large WAL is cut off.
const QUIET: Duration = Duration::from_secs(1);
/// What is cut off when the writer is quiet: 4 MiB.
const LARGE_PAGES: u32 = 1_000;

/// What a checkpoint did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// Whether somebody kept it from finishing.
    pub(super) busy: bool,
    /// Pages in the WAL.
    pub(super) pages: u32,
    /// How many of them are in the database file now.
    pub(super) copied: u32,
}

/// Copies what can be copied without waiting for anybody.
pub(super) fn passive(db: &Connection) -> rusqlite::Result<Progress> {
    run(db, "PRAGMA wal_checkpoint(PASSIVE)")
}

/// Copies everything and empties the WAL; waits for readers and writers as long as the connection's busy timeout.
pub(super) fn truncate(db: &Connection) -> rusqlite::Result<Progress> {
    run(db, "PRAGMA wal_checkpoint(TRUNCATE)")
}

fn run(db: &Connection, pragma: &str) -> rusqlite::Result<Progress> {
    let mut statement = db.prepare_cached(pragma)?;
    statement.query_row([], |row| {
        let pages = |column| row.get(column).map(|pages: i64| u32::try_from(pages).unwrap_or(0));
        Ok(Progress { busy: row.get::<_, i64>(0)? != 0, pages: pages(1)?, copied: pages(2)? })
    })
}

/// How far the WAL and its copy are; the writer and the thread tell each other.
#[derive(Debug, Default)]
struct Marks {
    /// Pages in the WAL after the last commit.
    pages: AtomicU32,
    /// How many of them have been copied.
    copied: AtomicU32,
    /// Whether the thread is copying: two cannot at once, so the writer leaves it alone.
    copying: AtomicBool,
    /// The most pages in the WAL since its file was last cut off, which is how long the file is: beginning anew writes from
    /// the start and leaves the rest.
    longest: AtomicU32,
}

impl Marks {
    /// Whether the WAL is to begin anew and little enough is left for the writer to copy.
    fn is_writers_turn(&self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        let rest = pages.saturating_sub(self.copied.load(Ordering::Relaxed));
        pages
            .checked_sub(BOUND_PAGES)
            .is_some_and(|excess| rest <= SHORT_REST_PAGES + excess / REST_OF_EXCESS)
    }

    fn take_in(&self, progress: Progress) {
        // Who was kept from copying has learned nothing.
        if !progress.busy {
            self.copied.store(progress.copied, Ordering::Relaxed);
        }
    }
}

/// The checkpoint thread, as the writer sees it.
pub(super) struct Checkpointer {
    marks: Arc<Marks>,
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
    /// Pages in the WAL when the thread was last woken.
    woken_at: u32,
    /// Pages in the WAL when the writer last copied.
    tried_at: u32,
}

impl Checkpointer {
    /// Starts the thread, and has `writer` count the pages of its commits.
    pub(super) fn start(path: &Path, writer: &mut Connection, fatal: Fatal) -> rusqlite::Result<Self> {
        let marks = Arc::new(Marks::default());
        let counted = marks.clone();
        writer.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: c_int| {
            let pages = u32::try_from(pages).unwrap_or(0);
            counted.pages.store(pages, Ordering::Relaxed);
            counted.longest.fetch_max(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        // It waits for nobody: what it cannot copy now it copies the next time.
        let db = connection::open(path, Role::Checkpointer, Duration::ZERO)?;
        let (wake, woken) = sync_channel(1);
        let shared = marks.clone();
        let thread = std::thread::Builder::new().name("store-checkpoint".into()).spawn(move || {
            let _guard = fatal.on_panic("the checkpoint thread");
            loop {
                let done = match woken.recv_timeout(QUIET) {
                    Ok(()) => copy(&db, &shared),
                    Err(RecvTimeoutError::Timeout) => tidy(&db, &shared),
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                match done.as_ref().map_err(meaning) {
                    Ok(()) | Err(Meaning::Busy) => {}
                    // The next round tries again; the commits themselves will say that the disk is full.
                    Err(Meaning::Full) => tracing::warn!("a checkpoint found the disk full"),
                    Err(Meaning::Culprit | Meaning::Fatal) => {
                        let error = done.err().map_or_else(String::new, |error| describe(&error));
                        return fatal.stop("a checkpoint", &error);
                    }
                }
            }
        });
        let thread = thread.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(Self { marks, wake, thread, woken_at: 0, tried_at: 0 })
    }

    /// What the writer does between two batches: almost always nothing.
    pub(super) fn after_commit(&mut self, writer: &Connection) -> rusqlite::Result<()> {
        let pages = self.marks.pages.load(Ordering::Relaxed);
        if pages < self.woken_at.max(self.tried_at) {
            // The WAL began anew.
            (self.woken_at, self.tried_at) = (0, 0);
            self.marks.copied.store(0, Ordering::Relaxed);
        }
        if pages - self.woken_at >= COPY_EVERY_PAGES {
            match self.wake.try_send(()) {
                // Full: it has been told already. Disconnected: it has stopped the process, or is about to.
                Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {
                    self.woken_at = pages
                }
            }
        }
        if self.marks.is_writers_turn()
            && pages - self.tried_at >= RETRY_EVERY_PAGES
            && !self.marks.copying.load(Ordering::Relaxed)
        {
            self.tried_at = pages;
            self.marks.take_in(passive(writer)?);
        }
        Ok(())
    }

    /// Stops the thread and waits for it.
    pub(super) fn stop(self) {
        drop(self.wake);
        // If it panicked, it has stopped the process.
        let _ = self.thread.join();
    }
}

fn copy(db: &Connection, marks: &Marks) -> rusqlite::Result<()> {
    for _ in 0..COPIES_IN_A_ROW {
        if marks.is_writers_turn() {
            break;
        }
        marks.copying.store(true, Ordering::Relaxed);
        let progress = passive(db);
        marks.copying.store(false, Ordering::Relaxed);
        let progress = progress?;
        marks.take_in(progress);
        // Below the bound there is no hurry.
        if progress.busy || marks.pages.load(Ordering::Relaxed) < BOUND_PAGES {
            break;
        }
    }
    Ok(())
}

fn tidy(db: &Connection, marks: &Marks) -> rusqlite::Result<()> {
    if marks.longest.load(Ordering::Relaxed) < LARGE_PAGES {
        return Ok(());
    }
    // Emptying takes the writer's lock: copy without it first, so that it is held for a moment only.
    let copied = passive(db)?;
    marks.take_in(copied);
    if copied.busy || copied.copied < copied.pages {
        return Ok(());
    }
    let emptied = truncate(db)?;
    if !emptied.busy {
        // Unless a commit came in at this moment; then its count is a little low until the next one.
        marks.pages.store(emptied.pages, Ordering::Relaxed);
        marks.longest.store(emptied.pages, Ordering::Relaxed);
    }
    Ok(())
}

//! The one write: a thread with the only writing connection, and group commit.
//!
//! Appends wait in a bounded queue. The thread takes all that wait, runs them in one `BEGIN IMMEDIATE … COMMIT` with one
//! fsync, and only then answers; what arrives meanwhile is the next batch. So one fsync serves as many appends as there are
//! at once, and a batch is as small as one append when nothing else is going on.

use std::collections::BTreeMap;

use rusqlite::{Connection, Statement};
use tokio::sync::{mpsc, oneshot};

use super::append::{Outcome, Statements};
use super::change::Change;
use super::checkpoint::Checkpointer;
use super::error::{Fatal, Meaning, describe, meaning};
use super::head::Head;
use super::head_keeper::HeadKeeper;
use super::options::CrashPoint;
use super::reserve::Reserve;
use crate::domain::id::Position;
use crate::store::counters::Counter;
use crate::store::record::Snapshot;
use crate::store::{AppendError, StoreError};

/// Appends that wait for the writer before the next caller has to wait with it in hand: two full batches, so that one can
/// gather while one is written. What waits is memory, and time for the last in the queue.
pub(super) const QUEUE: usize = 1024;
/// Most appends in one transaction. Beyond a few hundred, a larger batch saves nothing on the fsync and only makes the
/// first in it wait.
const MAX_BATCH: usize = 512;

/// What the writer is asked to do.
pub(super) enum Message {
    /// Append, and answer.
    Append(Box<Job>),
    /// Finish what is queued, then end the thread.
    Close,
    /// Look at the writing connection between two batches.
    #[cfg(feature = "testing")]
    Inspect(Box<dyn FnOnce(&Connection) + Send>),
}

/// One append, and who waits for it. If nobody does any more, it goes on all the same.
pub(super) struct Job {
    pub(super) change: Change,
    pub(super) answer: oneshot::Sender<Result<Snapshot, AppendError>>,
}

/// The writing side of a store.
pub(super) struct Writer<'c> {
    db: &'c Connection,
    begin: Statement<'c>,
    commit: Statement<'c>,
    statements: Statements<'c>,
    reserve: Reserve,
    crash: Option<CrashPoint>,
    fatal: Fatal,
}

/// The process is to end, and nobody who waits may be answered.
pub(super) struct Stopped;

/// How a batch went, as far as the next one is concerned.
enum Went {
    /// Everybody has an answer.
    Through,
    /// So too, but another program holds the lock: this is what they were told.
    Locked(StoreError),
}

/// A batch whose transaction is over and that is not in the log.
struct Failed {
    meaning: Meaning,
    doing: &'static str,
    error: rusqlite::Error,
}

impl<'c> Writer<'c> {
    pub(super) fn new(
        db: &'c Connection,
        reserve: Reserve,
        crash: Option<CrashPoint>,
        fatal: Fatal,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            db,
            // Never a deferred transaction: one that reads first and then writes fails at once if another writer came between.
            begin: db.prepare("BEGIN IMMEDIATE")?,
            commit: db.prepare("COMMIT")?,
            statements: Statements::prepare(db)?,
            reserve,
            crash,
            fatal,
        })
    }

    /// Works until the store is closed.
    pub(super) fn run(
        &mut self,
        queue: &mut mpsc::Receiver<Message>,
        checkpointer: &mut Checkpointer,
        head: &HeadKeeper,
    ) -> Result<(), Stopped> {
        let mut messages = Vec::with_capacity(MAX_BATCH);
        while queue.blocking_recv_many(&mut messages, MAX_BATCH) > 0 {
            let batch = self.sort_out(&mut messages, queue);
            let batch = self.admit(batch);
            if let Went::Locked(told) = self.write(batch, head)? {
                // Whoever queued behind a batch that waited in vain has waited too: do not make each wait its own turn.
                while let Ok(message) = queue.try_recv() {
                    messages.push(message);
                }
                answer_all(self.sort_out(&mut messages, queue), &told);
            }
            if let Err(error) = checkpointer.after_commit(self.db) {
                match meaning(&error) {
                    Meaning::Busy | Meaning::Full => {}
                    Meaning::Culprit | Meaning::Fatal => return Err(self.stop("a checkpoint", &error)),
                }
            }
        }
        Ok(())
    }

    fn sort_out(&self, messages: &mut Vec<Message>, queue: &mut mpsc::Receiver<Message>) -> Vec<Job> {
        let mut batch = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            match message {
                Message::Append(job) => batch.push(*job),
                Message::Close => queue.close(),
                #[cfg(feature = "testing")]
                Message::Inspect(look) => look(self.db),
            }
        }
        batch
    }

    /// Those that may be written now: all, or the reports alone while the space that is kept for them is not whole.
    fn admit(&mut self, batch: Vec<Job>) -> Vec<Job> {
        if self.reserve.is_whole() || batch.iter().all(|job| job.change.reports) {
            return batch;
        }
        match self.reserve.refill() {
            Ok(()) => batch,
            Err(error) => {
                let told = format!("{}: keeping space aside: {error}", self.fatal.database().display());
                answer_all_but_reports(batch, &StoreError::Full(told))
            }
        }
    }

    /// Writes a batch and answers everybody in it.
    fn write(&mut self, batch: Vec<Job>, head: &HeadKeeper) -> Result<Went, Stopped> {
        if batch.is_empty() {
            return Ok(Went::Through);
        }
        let failed = match self.transact(&batch) {
            Ok(outcomes) => {
                self.answer(batch, outcomes, head);
                return Ok(Went::Through);
            }
            Err(failed) => failed,
        };
        match failed.meaning {
            Meaning::Fatal => Err(self.stop(failed.doing, &failed.error)),
            Meaning::Busy => {
                let told = "another program holds the database's lock";
                let told = StoreError::Unavailable(self.fatal.says(told, &failed.error));
                answer_all(batch, &told);
                Ok(Went::Locked(told))
            }
            Meaning::Full => {
                let told = StoreError::Full(self.fatal.says(failed.doing, &failed.error));
                let reports = answer_all_but_reports(batch, &told);
                if !reports.is_empty() && self.reserve.give() {
                    return self.write(reports, head);
                }
                answer_all(reports, &told);
                Ok(Went::Through)
            }
            Meaning::Culprit if batch.len() == 1 => {
                tracing::error!("an append broke a constraint: {}", describe(&failed.error));
                answer_all(batch, &StoreError::Corrupt(describe(&failed.error)));
                Ok(Went::Through)
            }
            // One of them did it; alone, only that one fails.
            Meaning::Culprit => {
                for job in batch {
                    if let Went::Locked(_) = self.write(vec![job], head)? {
                        tracing::warn!(
                            "another program took the lock while a failed batch was written one by one"
                        );
                    }
                }
                Ok(Went::Through)
            }
        }
    }

    /// One transaction. When it returns `Ok`, all of it is durable; when it returns `Err`, nothing of it is in the log,
    /// unless the error is fatal, for then nobody knows.
    fn transact(&mut self, batch: &[Job]) -> Result<Vec<Outcome>, Failed> {
        let outcomes = self.execute(batch).and_then(|outcomes| {
            self.at("store.before_commit");
            match self.commit.execute([]) {
                Ok(_) => Ok(outcomes),
                Err(error) => Err(Failed {
                    // A commit that fails for another reason than these two may have reached the disk.
                    meaning: match meaning(&error) {
                        Meaning::Culprit | Meaning::Fatal => Meaning::Fatal,
                        harmless @ (Meaning::Busy | Meaning::Full) => harmless,
                    },
                    doing: "a commit",
                    error,
                }),
            }
        });
        match &outcomes {
            Ok(_) => self.at("store.after_commit"),
            // SQLite itself has rolled back after some errors.
            Err(failed) if failed.meaning == Meaning::Fatal || self.db.is_autocommit() => {}
            Err(_) => self.db.execute_batch("ROLLBACK").map_err(|error| Failed {
                meaning: Meaning::Fatal,
                doing: "a rollback",
                error,
            })?,
        }
        outcomes
    }

    fn execute(&mut self, batch: &[Job]) -> Result<Vec<Outcome>, Failed> {
        let failed = |doing| move |error| Failed { meaning: meaning(&error), doing, error };
        self.begin.execute([]).map_err(failed("beginning a transaction"))?;
        self.at("store.after_begin");
        let mut moves = BTreeMap::<Counter, i64>::new();
        let mut outcomes = Vec::with_capacity(batch.len());
        for job in batch {
            let outcome =
                self.statements.append(&job.change, self.crash.as_ref()).map_err(failed("an append"))?;
            if let Outcome::Appended(_) = outcome {
                for (counter, by) in &job.change.moves {
                    *moves.entry(*counter).or_default() += by;
                }
            }
            outcomes.push(outcome);
        }
        self.statements.count(moves.into_iter()).map_err(failed("counting"))?;
        Ok(outcomes)
    }

    /// Answers a batch that is durable.
    fn answer(&self, batch: Vec<Job>, outcomes: Vec<Outcome>, head: &HeadKeeper) {
        let appended = batch.iter().zip(&outcomes).rev().find_map(|(job, outcome)| match outcome {
            Outcome::Appended(position) => {
                Some(Head { position: Position(position.cast_unsigned()), hash: job.change.after.chain })
            }
            Outcome::Conflict(_) | Outcome::Corrupt(_) => None,
        });
        if let Some(last) = appended {
            head.publish(last);
        }
        self.at("store.before_answer");
        for (job, outcome) in batch.into_iter().zip(outcomes) {
            let Job { change, answer } = job;
            // A waiter that has gone made no promise to its own client; the append stands.
            let _ = answer.send(match outcome {
                Outcome::Appended(_) => Ok(change.after),
                Outcome::Conflict(current) => Err(AppendError::Conflict(current)),
                Outcome::Corrupt(error) => {
                    tracing::error!("an append was refused: {error}");
                    Err(error.into())
                }
            });
        }
    }

    fn at(&self, point: &'static str) {
        if let Some(crash) = &self.crash {
            crash(point);
        }
    }

    fn stop(&self, doing: &str, error: &rusqlite::Error) -> Stopped {
        self.fatal.stop(doing, &describe(error));
        Stopped
    }
}

fn answer_all(batch: Vec<Job>, error: &StoreError) {
    for job in batch {
        let _ = job.answer.send(Err(error.clone().into()));
    }
}

/// The reports of a batch, once all others in it are told of `error`.
fn answer_all_but_reports(batch: Vec<Job>, error: &StoreError) -> Vec<Job> {
    let (reports, others) = batch.into_iter().partition(|job| job.change.reports);
    answer_all(others, error);
    reports
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use rusqlite::trace::{TraceEvent, TraceEventCodes};

    use super::*;
    use crate::store::sqlite::connection::{self, Role};
    use crate::store::sqlite::migrate;
    use crate::testing::random_calls::{claim, decided, request, submit, succeed};

    fn job(before: &Snapshot, command: crate::domain::command::Command) -> Job {
        let change = Change::prepare(before, decided(&before.call, command)).unwrap().unwrap();
        Job { change, answer: oneshot::channel().0 }
    }

    /// A transaction that begins with a read and then writes fails at once when another writer came between, whatever the
    /// busy timeout; so every one that writes says so when it begins.
    #[test]
    fn every_write_begins_with_begin_immediate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.db");
        let mut db = connection::open(&path, Role::Writer, Duration::from_secs(5)).unwrap();
        let said = Arc::new(Mutex::new(Vec::<String>::new()));
        let heard = said.clone();
        let trace = move |event: TraceEvent<'_>| {
            if let TraceEvent::Stmt(_, sql) = event {
                let words: Vec<_> = sql.split_whitespace().take(2).collect();
                heard.lock().unwrap().push(words.join(" ").trim_end_matches(';').to_owned());
            }
        };
        db.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(trace)).unwrap();
        migrate::migrate(&path, &db, &|_| {}).unwrap();
        migrate::prove_writable(&path, &db).unwrap();
        let reserve = Reserve::open(&path);
        let mut writer =
            Writer::new(&db, reserve, None, Fatal::new(Path::new("calls.db"), Arc::new(|_| {}))).unwrap();
        let created = job(&Snapshot::absent(), submit(&request(1)));
        let call = created.change.after.clone();
        let claimed = job(&call, claim(2, "w"));
        let late = job(&call, claim(2, "late"));
        let done = job(&claimed.change.after, succeed(3, 1));
        assert!(writer.transact(&[created]).is_ok());
        assert!(writer.transact(&[claimed, late, done]).is_ok());
        drop(writer);

        let said = said.lock().unwrap();
        let mut writing = false;
        for statement in said.iter() {
            match statement.split_whitespace().next().unwrap_or_default() {
                "BEGIN" => {
                    assert_eq!((writing, statement.as_str()), (false, "BEGIN IMMEDIATE"));
                    writing = true;
                }
                "COMMIT" => writing = false,
                "INSERT" | "UPDATE" | "DELETE" | "CREATE" => assert!(writing, "`{statement}` outside"),
                _ => {}
            }
        }
        assert_eq!(said.iter().filter(|statement| *statement == "BEGIN IMMEDIATE").count(), 4);
        assert!(
            said.iter().any(|statement| statement == "INSERT INTO")
                && said.iter().any(|s| s == "UPDATE calls")
        );
        assert!(said.iter().all(|statement| !statement.contains(" OR")), "{said:?}");
    }
}

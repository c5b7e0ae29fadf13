//! `callonce doctor`: could a server run here, safely and fast?
//!
//! ```text
//!  place (file system, permissions, space) ─┐
//!  database (lock, contents, head file)     ├─▶ check: ok | warning | problem, what was found, what to do ─▶ exit code
//!  sync (fsync latency)                     │
//!  clock · port · machine (files, memory)  ─┘
//! ```

mod check;
mod clock;
mod database;
mod machine;
mod place;
mod port;
mod sync;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use serde::Serialize;

use self::check::{COLUMNS, Check, State, View};
use self::clock::Watched;
use self::database::Held;
pub(super) use self::place::is_in_memory;
use super::exit::{Exit, Failure};
use super::output::{Format, Output, emit_object, emit_rows};
use super::signals::{ENDING, Signals};
use super::source::raw;
use crate::store::sqlite::examine::{self, LogEnd};

/// Look whether a server can run here, safely and fast: the place of the database, the database, the disk, the machine.
///
/// Each check is ok, a warning or a problem, with what was found and what to do. The database is only read, also beside a
/// running server, and never made. Beside it some megabytes are written and removed again, to measure the disk. Exits 0 if
/// there is no problem, and as `serve` would if there is one: 74 for storage, 78 for configuration.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// The database file, which need not be there yet.
    #[arg(long, value_name = "FILE", env = "CALLONCE_DB", default_value = "callonce.db")]
    db: PathBuf,
    /// Where the server is to listen, or does.
    #[arg(long, value_name = "ADDR:PORT", env = "CALLONCE_LISTEN", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    #[command(flatten)]
    output: Output,
}

/// All checks, as one document.
#[derive(Serialize)]
struct Told<'a> {
    ok: bool,
    problems: usize,
    warnings: usize,
    checks: Vec<View<'a>>,
}

impl Doctor {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let mut signals = Signals::catch(&ENDING)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (told, db, listen) = (stop.clone(), self.db, self.listen);
        let mut looking = tokio::task::spawn_blocking(move || look(&db, listen, &told));
        let checks = tokio::select! {
            checks = &mut looking => checks,
            () = signals.next() => {
                stop.store(true, Ordering::Relaxed);
                // It puts away what it wrote.
                let _ = looking.await;
                return Ok(Exit::Interrupted);
            }
        };
        let checks =
            checks.map_err(|fault| Failure::new(Exit::Storage, format!("a check failed: {fault}")))?;
        show(&checks, self.output.output)
    }
}

/// Everything, in the order in which a start would meet it.
fn look(db: &Path, listen: SocketAddr, stop: &AtomicBool) -> Vec<Check> {
    let clock = Watched::begin();
    let mut checks = vec![database::sqlite_version()];
    let (mut holder, mut end): (Option<Held>, Option<LogEnd>) = (None, None);
    match examine::locate(db) {
        Ok(path) => {
            let folder = examine::folder(&path);
            let access = place::access(&path);
            let may_write = access.state == State::Ok;
            checks.extend([place::file_system(folder), access, place::free_space(&path)]);
            let (lock, held) = database::lock(&path);
            checks.push(lock);
            holder = held;
            let (database, log_end) = database::look(&path);
            checks.extend(database);
            end = log_end;
            if may_write {
                checks.push(sync::check(&path, stop));
            }
        }
        Err(error) => {
            let Failure { exit, message } = error.into();
            checks.push(Check::problem(
                "database",
                exit,
                message,
                "name a file in a folder that is there: --db",
            ));
        }
    }
    checks.push(clock.check(end.and_then(|end| end.at)));
    checks.push(port::check(listen, holder));
    checks.extend([machine::open_files(), machine::memory()]);
    checks
}

fn show(checks: &[Check], format: Format) -> Result<Exit, Failure> {
    let count = |name: &str| checks.iter().filter(|check| check.state.name() == name).count();
    let (problems, warnings) = (count("problem"), count("warning"));
    let views = checks.iter().map(Check::view);
    match format {
        Format::Json => {
            let told = Told { ok: problems == 0, problems, warnings, checks: views.collect() };
            emit_object(raw(&told).get(), format)?;
        }
        Format::Table | Format::Ndjson => {
            let rows: Vec<_> = views.map(|view| raw(&view)).collect();
            emit_rows(&rows, &COLUMNS, format)?;
            if format == Format::Table {
                show_measured(checks)?;
            }
        }
    }
    let first = checks.iter().find_map(|check| match check.state {
        State::Problem(exit) => Some((exit, check)),
        State::Ok | State::Warning => None,
    });
    match first {
        None => Ok(Exit::Done),
        Some((exit, check)) => {
            let more = if problems > 1 { format!(" (and {} more)", problems - 1) } else { String::new() };
            Err(Failure::new(exit, format!("{}: {}{more}", check.name, check.found)))
        }
    }
}

/// The figures behind the fsync latency, a row a pattern.
fn show_measured(checks: &[Check]) -> Result<(), Failure> {
    let measured = checks.iter().filter_map(|check| check.figures.as_ref()?.as_array());
    let rows: Vec<_> = measured.flatten().map(raw).collect();
    match rows.is_empty() {
        true => Ok(()),
        false => emit_rows(&rows, &sync::COLUMNS, Format::Table),
    }
}

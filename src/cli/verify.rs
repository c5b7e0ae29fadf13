//! `callonce verify`: does every law hold on this database?

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::output::{Format, Output, emit_object, emit_rows, say};
use super::progress;
use super::source::raw;
use crate::domain::law::Violation;
use crate::engine::clock::{Clock, Stopwatch};
use crate::store::sqlite;
use crate::store::sqlite::rebuild::RebuildError;
use crate::store::sqlite::verify::VerifyError;
use crate::store::verify::{Findings, Report};

/// Check every law on a database: that its log is whole and legal, and that its tables are what the log makes.
///
/// Only reads, also beside a running server. Exits with 6 if something is broken.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The database file.
    #[arg(long, value_name = "FILE", env = "CALLONCE_DB", default_value = "callonce.db")]
    db: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// What was looked at and what was found.
#[derive(Serialize)]
pub(super) struct Figures {
    pub(super) ok: bool,
    pub(super) position: u64,
    pub(super) events: u64,
    pub(super) calls: u64,
    pub(super) effects: u64,
    pub(super) seconds: f64,
    pub(super) events_per_second: u64,
    pub(super) broken: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unchecked: Vec<String>,
}

/// The figures, and the first of what is broken.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    figures: &'a Figures,
    first: Vec<FindingView<'a>>,
}

/// A broken fact.
#[derive(Serialize)]
pub(super) struct FindingView<'a> {
    law: &'static str,
    call_id: Option<&'a str>,
    version: Option<u64>,
    position: Option<u64>,
    column: &'a str,
    problem: &'a str,
}

const COLUMNS: [&str; 6] = ["law", "call_id", "version", "position", "column", "problem"];

impl Verify {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let bar = progress::bar("verifying");
        let watch = Stopwatch::start();
        // Only where a server is at work must everything go on.
        let served = sqlite::holder(&self.db).ok().flatten().is_some();
        let now = served.then(|| Clock::System.now());
        let tell = |seen, of| progress::tell(&bar, seen, of);
        let report = tokio::task::block_in_place(|| sqlite::verify::verify(&self.db, now, &tell))?;
        bar.finish_and_clear();
        let Report { position, events, calls, effects, findings, unchecked } = report;
        let (seconds, events_per_second) = speed(events, watch.elapsed());
        let figures = Figures {
            ok: findings.count() == 0,
            position: position.0,
            events,
            calls,
            effects,
            seconds,
            events_per_second,
            broken: findings.count(),
            unchecked,
        };
        show(&figures, &findings, self.output.output)
    }
}

/// Shows what was found, and says what to exit with.
pub(super) fn show(figures: &Figures, findings: &Findings, format: Format) -> Result<Exit, Failure> {
    for what in &figures.unchecked {
        say(&format!("not checked: {what}"));
    }
    let first: Vec<_> = findings.first().iter().map(FindingView::of).collect();
    match format {
        Format::Json | Format::Ndjson => emit_object(raw(&Told { figures, first }).get(), format)?,
        Format::Table => {
            emit_object(raw(figures).get(), format)?;
            if !first.is_empty() {
                let rows: Vec<_> = first.iter().map(raw).collect();
                emit_rows(&rows, &COLUMNS, format)?;
            }
        }
    }
    match findings.first() {
        [] => Ok(Exit::Done),
        [first, ..] => {
            let count = findings.count();
            Err(Failure::new(Exit::Broken, format!("{count} broken; the first: {first}")))
        }
    }
}

/// Seconds to the millisecond, and events in each.
pub(super) fn speed(events: u64, elapsed: Duration) -> (f64, u64) {
    let seconds = elapsed.as_secs_f64().max(1e-9);
    ((seconds * 1e3).round() / 1e3, (events as f64 / seconds) as u64)
}

impl<'a> FindingView<'a> {
    pub(super) fn of(violation: &'a Violation) -> Self {
        Self {
            law: violation.law.number(),
            call_id: violation.call.as_deref(),
            version: violation.version.map(|version| version.0),
            position: violation.position.map(|position| position.0),
            column: &violation.member,
            problem: &violation.problem,
        }
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Open(error) => error.into(),
            VerifyError::Read(error) => error.into(),
        }
    }
}

impl From<RebuildError> for Failure {
    fn from(error: RebuildError) -> Self {
        use crate::store::StoreError;
        match error {
            RebuildError::Open(error) => error.into(),
            RebuildError::Store(StoreError::Corrupt(problem)) => {
                Self::new(Exit::Broken, format!("{problem}; nothing was changed"))
            }
            RebuildError::Store(error) => error.into(),
        }
    }
}

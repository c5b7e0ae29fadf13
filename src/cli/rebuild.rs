//! `callonce rebuild`: the tables again, from the log.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{Output, say};
use super::progress;
use super::verify::{Figures, show, speed};
use crate::engine::clock::Stopwatch;
use crate::engine::crash::CrashPoints;
use crate::store::rebuild::Rebuilt;
use crate::store::sqlite::Options;
use crate::store::sqlite::rebuild::{compare, rebuild};

/// Make the tables of a database again from its log.
///
/// The server has to be stopped. All of the log is folded first; where an event cannot be believed, it is named by its position
/// and nothing is changed. The new tables take the place of the old ones at once or, if this is interrupted, not at all.
#[derive(Debug, Args)]
pub(super) struct Rebuild {
    /// The database file.
    #[arg(long, value_name = "FILE", env = "CALLONCE_DB", default_value = "callonce.db")]
    db: PathBuf,
    /// Compare only, change nothing; exits with 6 if the tables are not what the log makes.
    #[arg(long)]
    check: bool,
    /// Work on a network file system, where SQLite's locks may not hold.
    #[arg(long, env = "CALLONCE_ALLOW_NETWORK_FILESYSTEM")]
    allow_network_filesystem: bool,
    /// Arm crash points, for tests.
    #[arg(long, env = "CALLONCE_CHAOS", hide = true)]
    chaos: bool,
    /// Where to die, with --chaos.
    #[arg(long, value_name = "POINT[:N]", env = "CALLONCE_CRASH_AT", hide = true, requires = "chaos")]
    crash_at: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Rebuild {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let options = self.options()?;
        let bar = progress::bar(if self.check { "comparing" } else { "rebuilding" });
        let watch = Stopwatch::start();
        let tell = |seen, of| progress::tell(&bar, seen, of);
        let work = if self.check { compare } else { rebuild };
        let rebuilt = tokio::task::block_in_place(|| work(&self.db, &options, &tell))?;
        bar.finish_and_clear();
        let Rebuilt { position, events, calls, effects, findings, unchecked } = rebuilt;
        let (seconds, events_per_second) = speed(events, watch.elapsed());
        if !self.check {
            say(&format!("the tables of {} are made again from its log", self.db.display()));
        }
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

    fn options(&self) -> Result<Options, Failure> {
        let mut options =
            Options { allow_network_filesystem: self.allow_network_filesystem, ..Options::default() };
        if let Some(point) = &self.crash_at {
            let crash = CrashPoints::parse(point)
                .map_err(|unknown| Failure::new(Exit::Config, format!("CALLONCE_CRASH_AT: {unknown}")))?;
            options.crash_point = Some(Arc::new(move |point| crash.pass(point)));
        }
        Ok(options)
    }
}

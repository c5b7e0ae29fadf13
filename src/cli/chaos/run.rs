//! `callonce chaos run`: scenarios against a real server on a database of its own, each with its evidence and a verdict.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::value::RawValue;

use super::scenario::Scenario;
use super::story::Told;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Format, Output, emit, emit_rows, say};
use crate::cli::signals::{ENDING, Signals};
use crate::cli::source::raw;
use crate::engine::clock::Stopwatch;

/// Play scenarios in which things go wrong, and judge what comes of them.
///
/// Each starts a server process on a temporary database and a free port, does the damage, prints what the client did and saw
/// as lines of JSON, then what the proxy saw, the events and the counters, and judges: by what the scenario demands, by all
/// that the client was told, and by every law, as `callonce verify` does. Whatever happens, process and database are removed.
/// With no scenario named, all are played. Exits with 6 if anything is broken.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The answer is lost in four ways, and the client sends the same key again.
    #[arg(long)]
    drop_response: bool,
    /// The network delivers every request twice.
    #[arg(long)]
    duplicate: bool,
    /// Twelve clients send one key at one moment.
    #[arg(long)]
    concurrent: bool,
    /// The server is killed at four moments of a call, and started again.
    #[arg(long)]
    crash: bool,
    /// The server is stopped past a lease, and its late report is refused.
    #[arg(long)]
    stall: bool,
    /// The harm: a client that sends again with another key has two effects.
    #[arg(long)]
    new_key: bool,
    /// All of them, which is also what happens if none is named.
    #[arg(long)]
    all: bool,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Whose `serve` is tried, instead of this program's own.
    #[arg(long, value_name = "PROGRAM")]
    server: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

impl Run {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let program = match &self.server {
            Some(program) => program.clone(),
            None => std::env::current_exe()
                .map_err(|error| Failure::new(Exit::Config, format!("this program's own path: {error}")))?,
        };
        let scenarios = self.scenarios();
        if self.dry_run {
            return self.dry_run(&scenarios, &program);
        }
        let mut signals = Signals::catch(&ENDING)?;
        let played = tokio::select! {
            biased;
            () = signals.next() => None,
            played = self.play(&scenarios, &program) => Some(played),
        };
        // By now everything that was begun is dropped, and with it gone.
        played.unwrap_or_else(|| {
            say("interrupted; processes and databases are removed");
            std::process::exit(Exit::Interrupted as i32)
        })
    }

    fn scenarios(&self) -> Vec<Scenario> {
        let named = |scenario: &Scenario| match scenario {
            Scenario::DropResponse => self.drop_response,
            Scenario::Duplicate => self.duplicate,
            Scenario::Concurrent => self.concurrent,
            Scenario::Crash => self.crash,
            Scenario::Stall => self.stall,
            Scenario::NewKey => self.new_key,
        };
        let chosen: Vec<_> = Scenario::ALL.into_iter().filter(named).collect();
        if self.all || chosen.is_empty() { Scenario::ALL.into() } else { chosen }
    }

    fn dry_run(&self, scenarios: &[Scenario], program: &Path) -> Result<Exit, Failure> {
        #[derive(serde::Serialize)]
        struct Plan {
            scenario: &'static str,
            does: &'static str,
            demands: &'static str,
        }
        let plan = |scenario: &Scenario| Plan {
            scenario: scenario.name(),
            does: scenario.does(),
            demands: scenario.demands(),
        };
        let plans: Vec<_> = scenarios.iter().map(plan).collect();
        match self.output.output {
            Format::Json | Format::Ndjson => {
                let plans: Vec<_> = plans.iter().map(raw).collect();
                emit_rows(&plans, &[], self.output.output)?;
            }
            Format::Table => {
                let (program, folder) = (program.display(), std::env::temp_dir());
                let folder = folder.display();
                emit(&format!(
                    "each scenario would run `{program} serve` on a database in a new folder of {folder}, and remove both:"
                ))?;
                for Plan { scenario, does, demands } in plans {
                    emit(&format!("{scenario}\n  does:    {does}\n  demands: {demands}"))?;
                }
                emit("nothing was done")?;
            }
        }
        Ok(Exit::Done)
    }

    async fn play(&self, scenarios: &[Scenario], program: &Path) -> Result<Exit, Failure> {
        let format = self.output.output;
        let watch = Stopwatch::start();
        let mut told: Vec<Told> = Vec::new();
        for scenario in scenarios {
            let story = scenario.play(program, format).await?;
            if format == Format::Ndjson {
                emit(raw(&story).get())?;
            }
            told.push(story);
        }
        if format == Format::Json {
            let all: Vec<Box<RawValue>> = told.iter().map(raw).collect();
            emit_rows(&all, &[], format)?;
        }
        let seconds = watch.elapsed().as_secs_f64();
        let broken: Vec<_> = scenarios
            .iter()
            .zip(&told)
            .filter(|(_, told)| !told.holds)
            .map(|(scenario, _)| scenario.name())
            .collect();
        match broken.as_slice() {
            [] => {
                let plural = if told.len() == 1 { " holds" } else { "s hold" };
                say(&format!("{} scenario{plural}, in {seconds:.1} s", told.len()));
                Ok(Exit::Done)
            }
            broken => Err(Failure::new(
                Exit::Broken,
                format!("{} of {} scenarios are broken: {}", broken.len(), told.len(), broken.join(", ")),
            )),
        }
    }
}

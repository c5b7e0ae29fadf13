//! A run: rounds of work, each ended by a fault; then everything is settled, looked at, and judged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use callonce::engine::clock::Stopwatch;
use tempfile::TempDir;

use crate::check::{self, Finding, Rule};
use crate::fault::Weighted;
use crate::history::{self, Line};
use crate::ledger;
use crate::load::Progress;
use crate::stage::{self, Stage};

/// How many calls a round acknowledges before it is ended, at least and at most.
const WORK: (u64, u64) = (10, 120);
/// Of a hundred faults, so many must have cut off a request that was under way.
const LEAST_HITS: u64 = 90;
/// The seed, where none is given.
const SEED: u64 = 20_261_203;

/// What is to be played.
pub struct Plan {
    /// What it is called in the report.
    pub title: &'static str,
    pub rounds: u64,
    pub seed: u64,
}

impl Plan {
    /// So many rounds, unless the environment says under `size` how many; the seed, likewise.
    pub fn of_environment(title: &'static str, size: &str, rounds: u64) -> Self {
        Self { rounds: number(size).unwrap_or(rounds), ..Self::of_rounds(title, rounds) }
    }

    /// So many rounds, whatever the environment says; with its seed.
    pub fn of_rounds(title: &'static str, rounds: u64) -> Self {
        Self { title, rounds, seed: number("CALLONCE_SURVIVAL_SEED").unwrap_or(SEED) }
    }
}

/// The number that the environment has under this name.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{text}`")))
}

/// What came of it.
pub struct Outcome {
    pub title: &'static str,
    pub seed: u64,
    pub rounds: u64,
    pub took: Duration,
    /// From the start of a process, through recovery, until it listened.
    pub longest_start: Duration,
    pub operations: u64,
    pub progress: Progress,
    /// Rounds whose fault cut off a request that was under way.
    pub hits: u64,
    /// Faults by their names, and what else was counted.
    pub faults: BTreeMap<&'static str, u64>,
    pub counts: BTreeMap<&'static str, u64>,
    pub keys: u64,
    /// Of the downstream: requests, and how many of them it applied.
    pub requests: u64,
    pub applied: u64,
    pub findings: Vec<Finding>,
    /// What `verify` and `rebuild --check` complain about.
    pub complaints: Vec<String>,
    /// The folder of the history and the book.
    witnesses: TempDir,
}

/// Plays with a database in a temporary folder.
pub fn play(plan: &Plan, faults: &mut [Weighted]) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    play_in(plan, folder.path(), faults, |_| {})
}

/// Plays with the database in this folder. `prepare` may change the stage before the first server starts.
pub fn play_in(
    plan: &Plan,
    folder: &Path,
    faults: &mut [Weighted],
    prepare: impl FnOnce(&mut Stage),
) -> Outcome {
    let watch = Stopwatch::start();
    let witnesses = tempfile::tempdir().expect("a temporary folder can be made");
    let mut stage = Stage::set(folder, witnesses.path(), plan.seed);
    prepare(&mut stage);
    let (mut progress, mut hits, mut struck) = (Progress::default(), 0, BTreeMap::new());
    for _ in 0..plan.rounds {
        stage.serve();
        let work = stage.dice.between(WORK.0, WORK.1);
        let before = progress;
        progress = stage.load.reaches(progress.acknowledged + work);
        // What the fault before has cut off is known once the work after it is done.
        hits += u64::from(progress.cut > before.cut);
        let fault = draw(faults, &mut stage);
        *struck.entry(fault.fault.name()).or_default() += 1;
        fault.fault.strike(&mut stage);
    }
    stage.serve();
    let settled = stage.load.settles();
    hits += u64::from(settled.cut > progress.cut);
    stage.take_server().stop();
    let complaints = judged_by_the_program(&stage);
    let history = history::read(&stage::history(witnesses.path()));
    let book = ledger::read(&stage::book(witnesses.path()));
    let findings = check::check(&history, &book);
    let operations = history.iter().filter(|line| matches!(line, Line::Sent { .. })).count();
    Outcome {
        title: plan.title,
        seed: plan.seed,
        rounds: plan.rounds,
        took: watch.elapsed(),
        longest_start: stage.longest_start(),
        operations: operations as u64,
        progress: settled,
        hits,
        faults: struck,
        counts: stage.counts,
        keys: check::keys(&history),
        requests: book.len() as u64,
        applied: book.iter().filter(|entry| entry.applied).count() as u64,
        findings,
        complaints,
        witnesses,
    }
}

fn draw<'a>(faults: &'a mut [Weighted], stage: &mut Stage) -> &'a mut Weighted {
    let all = faults.iter().map(|one| one.weight).sum();
    let mut drawn = stage.dice.below(all);
    let chosen = faults.iter().position(|one| match drawn.checked_sub(one.weight) {
        None => true,
        Some(left) => {
            drawn = left;
            false
        }
    });
    &mut faults[chosen.expect("one of them is drawn")]
}

/// The program's own judges, which look at the database and know nothing of what clients saw.
fn judged_by_the_program(stage: &Stage) -> Vec<String> {
    let mut complaints = Vec::new();
    for (command, args) in [("verify", &[][..]), ("rebuild", &["--check"][..])] {
        let done = stage.callonce(command).args(args).output().expect("the program runs");
        if !done.status.success() {
            complaints.push(format!("{command} {args:?}: {}", String::from_utf8_lossy(&done.stderr)));
        }
    }
    complaints
}

/// Tells people, past the test framework, which keeps what is printed to itself.
pub fn say(text: &str) {
    // A closed stderr is no fault of the server.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

impl Outcome {
    /// How many findings break one of these rules.
    pub fn found(&self, rules: &[Rule]) -> usize {
        self.findings.iter().filter(|finding| rules.contains(&finding.rule)).count()
    }

    /// What it says about itself, a figure a row.
    fn rows(&self) -> Vec<(String, String)> {
        let mut rows =
            vec![("seed".to_owned(), self.seed.to_string()), ("rounds".to_owned(), self.rounds.to_string())];
        let counted = self.faults.iter().chain(&self.counts);
        rows.extend(counted.map(|(what, times)| ((*what).to_owned(), times.to_string())));
        let figures = [
            ("rounds whose fault cut off requests under way", self.hits),
            ("requests cut off", self.progress.cut),
            ("requests", self.operations),
            ("acknowledged answers", self.progress.acknowledged),
            ("keys", self.keys),
            ("requests to the downstream", self.requests),
            ("of them applied", self.applied),
            ("acknowledged calls lost", self.found(&[Rule::Lost]) as u64),
            ("answers taken back", self.found(&[Rule::TakenBack]) as u64),
            ("effects doubled", self.found(&[Rule::Doubled]) as u64),
            ("other findings", self.found(&Rule::OTHERS) as u64),
            ("complaints of verify and rebuild --check", self.complaints.len() as u64),
        ];
        rows.extend(figures.map(|(what, count)| (what.to_owned(), count.to_string())));
        let longest = self.longest_start.as_millis();
        rows.push(("milliseconds until a server listened, at most".to_owned(), longest.to_string()));
        rows.push(("seconds".to_owned(), format!("{:.1}", self.took.as_secs_f64())));
        rows
    }

    /// Prints it, and adds it to the report where the environment names one.
    pub fn tells(&self) {
        let mut text = format!("survival, {}\n", self.title);
        let mut report = format!("\n## {}\n\n| what | figure |\n|---|---|\n", self.title);
        for (what, figure) in self.rows() {
            let _ = writeln!(text, "  {figure:>9}  {what}");
            let _ = writeln!(report, "| {what} | {figure} |");
        }
        say(&text);
        let Some(path) = std::env::var_os("CALLONCE_SURVIVAL_REPORT") else { return };
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
        file.and_then(|mut file| file.write_all(report.as_bytes())).expect("the report can be written");
    }

    /// Fails unless the promise was kept, and enough was done for that to mean something.
    pub fn holds(&mut self) {
        if !self.findings.is_empty() || !self.complaints.is_empty() {
            // What was witnessed is worth a look then.
            self.witnesses.disable_cleanup(true);
            say(&format!("what was witnessed is in {}\n", self.witnesses.path().display()));
        }
        assert!(self.findings.is_empty(), "seed {}: {}", self.seed, check::tell(&self.findings));
        assert!(self.complaints.is_empty(), "seed {}: {}", self.seed, self.complaints.join("\n"));
        let acknowledged = self.progress.acknowledged;
        assert!(
            acknowledged >= WORK.0 * self.rounds,
            "only {acknowledged} answers in {} rounds",
            self.rounds
        );
        assert!(
            self.hits * 100 >= LEAST_HITS * self.rounds,
            "only {} of {} faults cut off a request",
            self.hits,
            self.rounds
        );
        assert!(self.applied * 10 >= self.keys, "only {} effects for {} keys", self.applied, self.keys);
    }
}

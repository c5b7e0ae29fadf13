//! `callonce bench`: how fast is a server, and does it keep its promise while it is?
//!
//! ```text
//!  schedule ─▶ sender ─▶ connection ─▶ server ─▶ /stats ─▶ counters ─┐
//!  (when)   keys (who)       │                                       ├─▶ verdict ─▶ report (figures, plot), exit code
//!                            └──────────▶ tally ─────────────────────┘
//! ```

mod connection;
mod counters;
mod keys;
mod load;
mod plot;
mod process;
mod report;
mod schedule;
mod sender;
mod server;
mod table;
mod tally;
mod template;
mod verdict;

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;

use self::counters::Counters;
use self::keys::Pattern;
use self::load::{Load, Plan};
use self::process::Usage;
use self::report::{Report, Setting, Used};
use self::schedule::Limit;
use self::server::OwnServer;
use self::tally::Tally;
use self::template::Template;
use super::args;
use super::config::duration;
use super::exit::{Exit, Failure};
use super::output::{Output, complain, say};
use super::progress;
use super::serve::raise_file_limit;
use super::signals::Endings;
use crate::domain::id::ToolName;
use crate::domain::json::Value;
use crate::engine::clock::Stopwatch;
use crate::engine::tools::Registry;
use crate::http::client::Client;

/// How long a load is if nobody says so.
const USUAL_DURATION: Duration = Duration::from_secs(10);
/// Which share of requests repeats an earlier key, of mixed ones.
const USUAL_REPEAT: f64 = 0.2;
/// How many keys are hot.
const USUAL_HOT: usize = 16;
/// The longest wait a server grants for one answer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Below the cap of one server (12,000), which would refuse the rest.
const MOST_CONNECTIONS: u64 = 10_000;
/// Beyond this the clock, not the server, is what is measured.
const MOST_PER_SECOND: u64 = 1_000_000;
/// Between two looks at how far the load is.
const TICK: Duration = Duration::from_millis(100);

/// Load a server, measure it, and check that it doubled and lost nothing.
///
/// It starts a server of its own, with a database that is removed afterwards, unless --base names one that nobody else
/// uses meanwhile. Exits 6 if effects and calls do not agree, 5 if the outcome of some call is unknown.
#[derive(Debug, Args)]
pub(super) struct Bench {
    /// Load the server at this address; it keeps the calls. Nobody else may use it meanwhile, or the check is wrong.
    #[arg(long, value_name = "URL", conflicts_with = "dir")]
    base: Option<String>,
    /// Where the own server's database lies for the time of the run [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// How keys come again.
    #[arg(long, value_name = "PATTERN", default_value = "distinct")]
    keys: Pattern,
    /// With --keys mixed: which share of requests repeats an earlier key [default: 0.2]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = share)]
    repeat: Option<f64>,
    /// With --keys hot: how many keys there are [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    hot: Option<u64>,
    /// How many connections; each has one request under way.
    #[arg(long, value_name = "N", default_value_t = 64, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=MOST_CONNECTIONS))]
    concurrency: u64,
    /// Send so many requests.
    #[arg(long, value_name = "N", conflicts_with = "duration", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Send requests for so long [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    duration: Option<Duration>,
    /// Open loop: so many requests a second are due by the clock, and their latency counts from then.
    #[arg(long, value_name = "R", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=MOST_PER_SECOND))]
    rate: Option<u64>,
    /// Let each answer wait until its call has settled (`Prefer: wait`).
    #[arg(long)]
    wait: bool,
    /// Before anything is measured: so many requests, or for so long.
    #[arg(long, value_name = "N|TIME", value_parser = Limit::parse, allow_hyphen_values = true)]
    warm_up: Option<Limit>,
    /// The tool to call.
    #[arg(long, value_name = "TOOL", default_value = "charge", value_parser = ToolName::parse)]
    tool: ToolName,
    /// Its arguments: a JSON object, @FILE for a file that holds one, or - for stdin; empty for none.
    #[arg(long, value_name = "JSON", default_value = r#"{"amount":1}"#)]
    args: String,
    /// How long one answer may take, on top of what the server is asked to wait.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, allow_hyphen_values = true)]
    timeout: Duration,
    /// How long to wait, after the last answer, until all calls have settled.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, allow_hyphen_values = true)]
    settle: Duration,
    #[command(flatten)]
    output: Output,
}

impl Bench {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        self.refuse_what_has_no_sense()?;
        let body = self.body()?;
        raise_file_limit();
        // Before there is anything that would have to be removed.
        let endings = Endings::catch();
        tokio::select! {
            exit = self.measure(body) => exit,
            // What is dropped with the measurement ends its server and removes its database.
            () = endings.first() => Ok(Exit::Interrupted),
        }
    }

    /// What clap cannot know: an option that changes nothing is a mistake.
    fn refuse_what_has_no_sense(&self) -> Result<(), Failure> {
        for (given, pattern, option) in
            [(self.repeat.is_some(), Pattern::Mixed, "--repeat"), (self.hot.is_some(), Pattern::Hot, "--hot")]
        {
            if given && self.keys != pattern {
                let message = format!("{option} says nothing without --keys {}", pattern.name());
                return Err(Failure::new(Exit::Usage, message));
            }
        }
        Ok(())
    }

    async fn measure(&self, body: Bytes) -> Result<Exit, Failure> {
        let own = match &self.base {
            Some(_) => None,
            None => {
                let place = self.dir.clone().unwrap_or_else(std::env::temp_dir);
                Some(OwnServer::start(&place).await?)
            }
        };
        let base = own.as_ref().map_or(self.base.as_deref().unwrap_or_default(), OwnServer::base).to_owned();
        let client = Client::new(&base)?;
        let load = Load::start(self.plan(&base, body).await?)?;
        self.introduce(&base, own.as_ref());
        let mut before = self.idle(&client).await?;
        if let Some(warm_up) = self.warm_up {
            let tally = self.watch(&load, warm_up, "warming up").await?;
            // Only what the measured requests do is to be in their figures.
            before = self.idle(&client).await?;
            if tally.accepted < tally.ended() {
                return Err(spoiled(&tally));
            }
        }
        let server_before = own.as_ref().and_then(OwnServer::usage);
        let client_before = Usage::of(std::process::id());
        let tally = self.watch(&load, self.limit(), "loading").await?;
        let client_after = Usage::of(std::process::id());
        let settling = Stopwatch::start();
        let after = Counters::settled(&client, self.settle).await.map_err(unchecked)?;
        let completed_after = tally.wall + settling.elapsed();
        let server_after = own.as_ref().and_then(OwnServer::usage);

        let growth = after.since(&before);
        let side_effect = Registry::samples().terms(&self.tool).map(|terms| terms.side_effect);
        let broken = verdict::broken(&tally, &growth, side_effect);
        let exit = verdict::exit(&tally, &growth, &broken);
        let used = Used {
            server_cpu: Used::cpu(server_before, server_after),
            server_peak_rss_bytes: server_after.map(|usage| usage.peak_rss_bytes),
            client_cpu: Used::cpu(client_before, client_after),
        };
        let setting = self.setting(base, own.as_ref());
        let report = Report::of(setting, &tally, &growth, completed_after, used, side_effect, broken.clone());
        report.show(&tally, self.output.output)?;
        broken.iter().for_each(|law| complain(law));
        if let Some(refusal) = &tally.refusal {
            complain(&format!("the load was stopped, because a request was refused: {refusal}"));
        }
        Ok(exit)
    }

    fn introduce(&self, base: &str, own: Option<&OwnServer>) {
        let Some(own) = own else { return say(&format!("loading {base}")) };
        let folder = own.folder().display();
        say(&format!("loading {base} (its own server, process {}, storing in {folder})", own.pid()));
        if own.is_in_memory() {
            say(
                "that folder is in memory, where a commit is much cheaper than on a disk; --dir names another one",
            );
        }
    }

    /// The counters of a server that has nothing left to do.
    async fn idle(&self, client: &Client) -> Result<Counters, Failure> {
        let counters = Counters::settled(client, self.settle).await?;
        match counters.open() {
            0 => Ok(counters),
            open => Err(Failure::new(
                Exit::Open,
                format!(
                    "{open} calls are still under way there: what they do could not be told from the load"
                ),
            )),
        }
    }

    /// Runs a phase and shows how far it is.
    async fn watch(&self, load: &Load, limit: Limit, verb: &'static str) -> Result<Tally, Failure> {
        let bar = progress::bar_of_time(verb);
        let watch = Stopwatch::start();
        let phase = load.run(limit);
        tokio::pin!(phase);
        loop {
            tokio::select! {
                tally = &mut phase => {
                    bar.finish_and_clear();
                    return tally;
                }
                () = tokio::time::sleep(TICK) => {
                    let (ended, seconds) = (load.ended(), watch.elapsed().as_secs());
                    let (at, of) = match limit {
                        Limit::Count(count) => (ended, count),
                        Limit::Time(time) => (millis(watch.elapsed()), millis(time)),
                    };
                    bar.set_message(format!("{verb}: {ended} requests in {seconds} s"));
                    progress::tell(&bar, at.min(of), of);
                }
            }
        }
    }

    fn limit(&self) -> Limit {
        match self.count {
            Some(count) => Limit::Count(count),
            None => Limit::Time(self.duration.unwrap_or(USUAL_DURATION)),
        }
    }

    async fn plan(&self, base: &str, body: Bytes) -> Result<Plan, Failure> {
        let wait = self.wait.then_some(LONGEST_WAIT);
        Ok(Plan {
            template: Template::of(base, body, self.timeout, wait).await?,
            concurrency: places(self.concurrency),
            rate: self.rate,
            pattern: self.keys,
            repeat: self.repeat.unwrap_or(USUAL_REPEAT),
            hot: self.hot.map_or(USUAL_HOT, places),
            wait: self.wait,
        })
    }

    fn body(&self) -> Result<Bytes, Failure> {
        let args = args::all(&self.args)
            .map_err(|problem| Failure::new(Exit::Usage, format!("--args: {problem}")))?;
        let tool = Value::String(self.tool.as_str().into());
        let body = Value::Object(vec![("args".into(), args), ("tool".into(), tool)]);
        Ok(body.canonical().as_str().to_owned().into())
    }

    fn setting(&self, base: String, own: Option<&OwnServer>) -> Setting {
        let setting = Setting {
            base,
            own_server: own.is_some(),
            in_memory: own.map(OwnServer::is_in_memory),
            tool: self.tool.to_string(),
            keys: self.keys.name(),
            repeat: None,
            hot: None,
            concurrency: places(self.concurrency),
            count: None,
            duration_seconds: None,
            rate: self.rate,
            wait: self.wait,
        };
        let (repeat, hot) = (self.repeat.unwrap_or(USUAL_REPEAT), self.hot.map_or(USUAL_HOT, places));
        setting.limited(self.limit(), self.keys, repeat, hot)
    }
}

/// A warm-up that failed leaves nothing to measure.
fn spoiled(tally: &Tally) -> Failure {
    let exit = match (tally.unknown, tally.refused) {
        (0, 0) => Exit::Retryable,
        (0, _) => Exit::Usage,
        _ => Exit::Open,
    };
    let codes: Vec<_> = tally.errors.keys().map(String::as_str).collect();
    let why = tally.refusal.clone().unwrap_or_else(|| codes.join(", "));
    Failure::new(exit, format!("the warm-up failed: {why}"))
}

/// Once requests were sent, whatever goes wrong leaves their outcome unknown.
fn unchecked(failure: Failure) -> Failure {
    let message = format!("the load was sent, but what came of it cannot be checked: {}", failure.message);
    Failure::new(Exit::Open, message)
}

/// A part of a whole: above 0 and below 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        Ok(_) | Err(_) => Err("it is a number between 0 and 1, as in 0.2".into()),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn places(number: u64) -> usize {
    usize::try_from(number).expect("clap keeps it below a million")
}

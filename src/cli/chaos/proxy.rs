//! `callonce chaos proxy`: a proxy that fails on purpose, before callonce or any other HTTP/1.1 service.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::{Args, ValueEnum};
use reqwest::Method;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cli::config::duration;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{emit_evidence, say};
use crate::cli::serve::raise_file_limit;
use crate::cli::signals::{ENDING, Signals};
use crate::cli::source::raw;
use crate::engine::clock::Stopwatch;
use crate::engine::ids;
use crate::http::chaos::evidence::{Evidence, Given, Witness};
use crate::http::chaos::mode::{Mode, Moment, Second, Silence};
use crate::http::chaos::pick::{Only, Which};
use crate::http::chaos::upstream::Upstream;
use crate::http::chaos::{Settings, serve};

/// How much later a delayed response comes, unless it is said: longer than most clients' first timeout in tests, shorter
/// than anybody's patience.
const DEFAULT_DELAY: Duration = Duration::from_secs(2);

/// Stand before any HTTP service and lose, delay, double or cut what passes.
///
/// Point a client at this address instead of at its service, and see whether it doubles an effect. For each request a line
/// of JSON on stdout says what was done, what the service answered and what the client was given. SIGTERM or Ctrl-C ends
/// it with a summary.
#[derive(Debug, Args)]
pub(super) struct Proxy {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8082")]
    listen: SocketAddr,
    /// The service behind it, as host:port or http://host:port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8081", value_parser = Upstream::parse)]
    upstream: Upstream,
    /// What to do.
    #[arg(long, value_name = "MODE")]
    mode: Fault,
    /// With delay-response: how much later the answer comes [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    delay: Option<Duration>,
    /// With drop-response and drop-request: keep the connection open and silent until the client gives up, instead of
    /// closing it.
    #[arg(long)]
    hold: bool,
    /// With duplicate-request: how the second copy travels, new-connection (at the same moment) or same-connection (after
    /// the first is answered) [default: new-connection]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    second: Option<SecondOn>,
    /// With reset: on the request, which upstream then never sees, or on the response [default: response]
    #[arg(long, value_name = "WHEN", hide_possible_values = true)]
    on: Option<When>,
    /// Only to the first N requests; all others pass.
    #[arg(long, value_name = "N", group = "which", allow_negative_numbers = true)]
    first: Option<u64>,
    /// Only to the Nth request, the 2Nth, and so on; all others pass.
    #[arg(long, value_name = "N", group = "which", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// Only to this share of the requests, from 0 to 1, drawn at random; all others pass.
    #[arg(long, value_name = "P", group = "which", allow_negative_numbers = true, value_parser = share)]
    share: Option<f64>,
    /// With --share: draws the same sequence as another run that said this seed.
    #[arg(long, value_name = "SEED", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Only to requests of this method; may be given more than once. Others pass, and are not counted.
    #[arg(long, value_name = "METHOD", value_parser = method)]
    only: Vec<Method>,
    /// Only to requests whose path begins like this. Others pass, and are not counted.
    #[arg(long, value_name = "PREFIX", default_value = "/", value_parser = path)]
    path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fault {
    /// Nothing: everything passes, and is told.
    Pass,
    /// The service executes the request; its answer never arrives.
    DropResponse,
    /// The service executes the request; its answer arrives late.
    DelayResponse,
    /// The service gets the request twice; the client gets the second answer.
    DuplicateRequest,
    /// The service never gets the request.
    DropRequest,
    /// The service executes the request; of the answer, the head and half of the body arrive.
    TruncateResponse,
    /// The client's connection is reset (TCP RST).
    Reset,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SecondOn {
    NewConnection,
    SameConnection,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum When {
    Request,
    Response,
}

impl Proxy {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let mode = self.mode()?;
        let which = self.which();
        raise_file_limit();
        let listener = TcpListener::bind(self.listen).await.map_err(|error| {
            Failure::new(Exit::Config, format!("--listen {}: cannot listen there: {error}", self.listen))
        })?;
        let address = listener.local_addr().unwrap_or(self.listen);
        let stop = CancellationToken::new();
        // Before the greeting: whoever has read it may send one.
        let mut signals = Signals::catch(&ENDING)?;
        let cancel = stop.clone();
        tokio::spawn(async move {
            signals.next().await;
            cancel.cancel();
        });
        say(&format!("{} on http://{address}, before {}", mode.name(), self.upstream));
        if let Which::Share { seed, .. } = which {
            say(&format!("the same requests are drawn again by --seed {seed}"));
        }
        let evidence = Arc::new(EvidenceWriter::new(stop.clone()));
        let only = Only { methods: self.only, path: self.path };
        serve(listener, Settings { upstream: self.upstream, mode, which, only }, evidence.clone(), stop)
            .await;
        say(&evidence.summary());
        evidence.counts().lost.take().map_or(Ok(Exit::Done), Err)
    }

    /// The mode with what belongs to it. An option of another mode is a mistake, and would be ignored in silence.
    fn mode(&self) -> Result<Mode, Failure> {
        let drops = matches!(self.mode, Fault::DropResponse | Fault::DropRequest);
        for (given, option, fits, with) in [
            (self.delay.is_some(), "--delay", self.mode == Fault::DelayResponse, "--mode delay-response"),
            (
                self.second.is_some(),
                "--second",
                self.mode == Fault::DuplicateRequest,
                "--mode duplicate-request",
            ),
            (self.on.is_some(), "--on", self.mode == Fault::Reset, "--mode reset"),
            (self.hold, "--hold", drops, "--mode drop-response or drop-request"),
            // Not clap's `requires`, which is satisfied by whatever excludes --share, as --first does.
            (self.seed.is_some(), "--seed", self.share.is_some(), "--share"),
        ] {
            if given && !fits {
                return Err(Failure::new(Exit::Usage, format!("{option} says nothing without {with}")));
            }
        }
        let silence = if self.hold { Silence::Hold } else { Silence::Close };
        Ok(match self.mode {
            Fault::Pass => Mode::Pass,
            Fault::DropResponse => Mode::DropResponse(silence),
            Fault::DelayResponse => Mode::DelayResponse(self.delay.unwrap_or(DEFAULT_DELAY)),
            Fault::DuplicateRequest => Mode::DuplicateRequest(match self.second {
                None => Second::default(),
                Some(SecondOn::NewConnection) => Second::NewConnection,
                Some(SecondOn::SameConnection) => Second::SameConnection,
            }),
            Fault::DropRequest => Mode::DropRequest(silence),
            Fault::TruncateResponse => Mode::TruncateResponse,
            Fault::Reset => Mode::Reset(match self.on {
                None => Moment::default(),
                Some(When::Request) => Moment::Request,
                Some(When::Response) => Moment::Response,
            }),
        })
    }

    fn which(&self) -> Which {
        match (self.first, self.every, self.share) {
            (Some(count), _, _) => Which::First(count),
            (_, Some(step), _) => Which::Every(step),
            (_, _, Some(share)) => Which::Share { share, seed: self.seed.unwrap_or_else(ids::seed) },
            (None, None, None) => Which::All,
        }
    }
}

/// Writes each line of evidence at once, and counts.
struct EvidenceWriter {
    since: Stopwatch,
    stop: CancellationToken,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: u64,
    sent: u64,
    modes: BTreeMap<&'static str, u64>,
    ends: BTreeMap<&'static str, u64>,
    /// Why a line could not be written.
    lost: Option<Failure>,
}

impl EvidenceWriter {
    fn new(stop: CancellationToken) -> Self {
        Self { since: Stopwatch::start(), stop, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn summary(&self) -> String {
        let counts = self.counts();
        let list = |counts: &BTreeMap<&'static str, u64>| {
            let each: Vec<_> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
            each.join(", ")
        };
        let Counts { requests, sent, modes, ends, lost: _ } = &*counts;
        match requests {
            0 => "stopped; there was no request".into(),
            _ => format!(
                "stopped; requests: {requests} ({}); sent to upstream: {sent}; clients: {}",
                list(modes),
                list(ends)
            ),
        }
    }
}

impl Witness for EvidenceWriter {
    fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    fn tell(&self, evidence: Evidence) {
        // One line at a time, and counted in the order in which they are written.
        let mut counts = self.counts();
        counts.requests += 1;
        counts.sent += u64::from(evidence.sent);
        *counts.modes.entry(evidence.mode).or_default() += 1;
        *counts.ends.entry(outcome(evidence.client)).or_default() += 1;
        // After a line that was lost the others would be no whole story.
        if counts.lost.is_none()
            && let Err(failure) = emit_evidence(raw(&evidence).get())
        {
            // A proxy that cannot say what it did is of no use.
            let message = format!("stopped, because the evidence cannot be written: {}", failure.message);
            counts.lost = Some(Failure { message, ..failure });
            self.stop.cancel();
        }
    }
}

/// In the words of the summary.
fn outcome(given: Given) -> &'static str {
    match given {
        Given::Answer => "answered",
        Given::Truncated => "truncated",
        Given::Closed => "closed",
        Given::Reset => "reset",
        Given::GaveUp => "gave up",
        Given::Stopped => "cut off at the end",
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Ok(_) | Err(_) => Err("it is a number from 0 to 1, as in 0.25".into()),
    }
}

fn method(text: &str) -> Result<Method, String> {
    text.to_ascii_uppercase().parse().map_err(|_| "expected a method, as in POST".into())
}

fn path(text: &str) -> Result<String, String> {
    match text.starts_with('/') {
        true => Ok(text.into()),
        false => Err("a path begins with /, as in /v1/tool-calls".into()),
    }
}

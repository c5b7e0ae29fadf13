//! `callonce serve`: the server, from opening the file to the last drained call.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::SignalKind;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::config::{duration, page_cache, workers};
use super::exit::{Exit, Failure};
use super::output::{complain, say};
use super::signals::Signals;
use super::tools_file::add;
use crate::domain::id::Owner;
use crate::domain::policy::DEFAULT_MAX_ATTEMPTS;
use crate::engine::clock::{Clock, Stopwatch};
use crate::engine::crash::CrashPoints;
use crate::engine::tools::Registry;
use crate::engine::{Engine, Settings, Store, ids};
use crate::http::accept;
use crate::http::limits::Limits;
use crate::http::metrics::Metrics;
use crate::http::router::router;
use crate::store::sqlite::{Holder, OpenError, Options, PAGE_CACHE, SqliteStore};

/// Run the server.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The SQLite file; made if it is not there. Files beside it with -wal, -shm, -lock, -head and -reserve belong to it.
    #[arg(long, value_name = "FILE", env = "CALLONCE_DB", default_value = "callonce.db")]
    db: PathBuf,
    /// A file that declares tools; see docs/tools.md, and `callonce tools check`.
    #[arg(long, value_name = "FILE", env = "CALLONCE_TOOLS")]
    tools: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", env = "CALLONCE_LISTEN", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// How many tools may run at once (those aside that wait for nothing).
    #[arg(
        long,
        value_name = "N",
        env = "CALLONCE_WORKERS",
        default_value = "8",
        allow_negative_numbers = true,
        value_parser = workers
    )]
    workers: NonZeroUsize,
    /// How many MiB of the database the writer keeps at hand; more is for many millions of calls.
    #[arg(
        long,
        value_name = "N",
        env = "CALLONCE_PAGE_CACHE_MIB",
        default_value_t = PAGE_CACHE,
        allow_negative_numbers = true,
        value_parser = page_cache
    )]
    page_cache_mib: NonZeroU32,
    /// How long a claimed call is kept from others; longer than any tool's time limit.
    #[arg(long, value_name = "TIME", env = "CALLONCE_LEASE", default_value = "30s", value_parser = duration,
          allow_hyphen_values = true)]
    lease: Duration,
    /// How long an attempt may run, where its tool states no limit of its own.
    #[arg(long, value_name = "TIME", env = "CALLONCE_TIME_LIMIT", default_value = "25s", value_parser = duration,
          allow_hyphen_values = true)]
    time_limit: Duration,
    /// How many attempts a call may have; after the last one it is failed for good.
    #[arg(long, value_name = "N", env = "CALLONCE_MAX_ATTEMPTS", default_value_t = DEFAULT_MAX_ATTEMPTS,
          allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: u32,
    /// On SIGTERM, how long running tools may take to finish before they are left to the next start.
    #[arg(long, value_name = "TIME", env = "CALLONCE_DRAIN", default_value = "30s", value_parser = duration,
          allow_hyphen_values = true)]
    drain: Duration,
    /// Arm crash points: calls with `_crash_after_commit` in their args, and CALLONCE_CRASH_AT=POINT[:N], kill this process.
    #[arg(long, env = "CALLONCE_CHAOS")]
    chaos: bool,
    /// Where to die, with --chaos.
    #[arg(long, value_name = "POINT[:N]", env = "CALLONCE_CRASH_AT", hide = true, requires = "chaos")]
    crash_at: Option<String>,
    /// Start although the database lacks events that were acknowledged; says what is lost.
    #[arg(long, env = "CALLONCE_ACCEPT_DATA_LOSS")]
    accept_data_loss: bool,
    /// Start although the file lies on a network file system, where SQLite's locks may not hold.
    #[arg(long, env = "CALLONCE_ALLOW_NETWORK_FILESYSTEM")]
    allow_network_filesystem: bool,
    /// What to log, as in `info` or `callonce=debug`.
    #[arg(long, value_name = "FILTER", env = "CALLONCE_LOG", default_value = "info")]
    log: String,
    /// How to log: text or json.
    #[arg(long, value_name = "FORMAT", env = "CALLONCE_LOG_FORMAT", default_value = "text")]
    log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl Serve {
    pub(super) async fn run(self, tools: Registry) -> Result<Exit, Failure> {
        self.start_log()?;
        let crash = self.crash_points()?;
        let tools = add(self.tools.as_ref(), tools)?;
        raise_file_limit();
        let settings = Settings {
            owner: ids::owner(),
            workers: self.workers,
            lease: self.lease,
            time_limit: self.time_limit,
            max_attempts: self.max_attempts,
            crash,
            ..Settings::default()
        };
        let unfit = |unfit| Failure::new(Exit::Config, format!("--lease, --time-limit: {unfit}"));
        // Before the database is touched: a server that is not to run leaves no file behind.
        settings.check(&tools).map_err(unfit)?;
        let options = self.store_options(&settings.owner, &settings.crash);
        let store = SqliteStore::open(&self.db, options).map_err(refused)?;
        let metrics = Arc::new(Metrics::default());
        let engine = Engine::new(store, tools, settings, metrics.clone()).map_err(unfit)?;
        // Before anything runs: a server that cannot listen must not use up attempts each time it is started again.
        let listener = TcpListener::bind(self.listen).await.map_err(|error| {
            Failure::new(Exit::Config, format!("--listen {}: cannot listen there: {error}", self.listen))
        })?;
        let address = listener.local_addr().unwrap_or(self.listen);
        engine.start().await.map_err(|error| Failure::new(Exit::Storage, error.to_string()))?;
        // Before the greeting: whoever has read it may send one.
        let signals = Signals::catch(&[SignalKind::terminate(), SignalKind::interrupt()]);
        self.greet(address);

        let shutdown = CancellationToken::new();
        match signals {
            Ok(signals) => drop(tokio::spawn(await_signals(signals, shutdown.clone()))),
            Err(failure) => {
                complain(&format!("{}; stop this server with kill -9, which loses nothing", failure.message));
            }
        }
        let stopping = tokio::spawn(wind_down(engine.clone(), shutdown.clone()));
        let limits = Limits::default();
        let app = router(engine.clone(), metrics, limits);
        accept::serve(listener, app, limits, shutdown, self.drain).await;
        let drained_for = stopping.await.map_or(Duration::ZERO, |since| since.elapsed());
        match engine.stop(self.drain.saturating_sub(drained_for)).await {
            true => say("stopped; everything that ran has finished"),
            false => say("stopped; what still ran is taken up again at the next start"),
        }
        Ok(Exit::Done)
    }

    fn start_log(&self) -> Result<(), Failure> {
        let filter = EnvFilter::try_new(&self.log)
            .map_err(|problem| Failure::new(Exit::Config, format!("--log {}: {problem}", self.log)))?;
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(colours());
        match self.log_format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().init(),
        }
        Ok(())
    }

    fn crash_points(&self) -> Result<CrashPoints, Failure> {
        match (&self.crash_at, self.chaos) {
            (Some(point), true) => CrashPoints::parse(point)
                .map_err(|unknown| Failure::new(Exit::Config, format!("CALLONCE_CRASH_AT: {unknown}"))),
            (None, true) => Ok(CrashPoints::armed()),
            (_, false) => Ok(CrashPoints::default()),
        }
    }

    fn store_options(&self, owner: &Owner, crash: &CrashPoints) -> Options {
        let holder = Holder {
            boot: Some(owner.to_string()),
            since: Some(humantime::format_rfc3339_seconds(SystemTime::from(Clock::System.now())).to_string()),
            ..Holder::this_process()
        };
        let mut options = Options {
            accept_data_loss: self.accept_data_loss,
            allow_network_filesystem: self.allow_network_filesystem,
            page_cache: self.page_cache_mib,
            ..Options::new(holder)
        };
        #[cfg(feature = "testing")]
        {
            let name = std::env::var("CALLONCE_WEAKNESS").unwrap_or_default();
            options.weakness = crate::store::sqlite::Weakness::named(&name);
        }
        if crash.is_armed() {
            let crash = crash.clone();
            options.crash_point = Some(Arc::new(move |point| crash.pass(point)));
        }
        options
    }

    fn greet(&self, address: SocketAddr) {
        say(&format!("listening on http://{address}, storing in {}", self.db.display()));
        say(&format!(
            "try: curl -sS http://{address}/v1/tool-calls -H 'Idempotency-Key: demo-1' \
             -H 'Content-Type: application/json' -d '{{\"tool\":\"charge\",\"args\":{{\"amount\":100}}}}'"
        ));
    }
}

/// Ends claiming the moment the server is to stop, not when its last connection has ended. Returns a watch that runs
/// since then, because connections and tools share the time to drain.
async fn wind_down<S: Store>(engine: Engine<S>, shutdown: CancellationToken) -> Stopwatch {
    shutdown.cancelled().await;
    engine.wind_down();
    Stopwatch::start()
}

/// The first signal asks for a drain, the second one ends the process where it is.
async fn await_signals(mut signals: Signals, shutdown: CancellationToken) {
    signals.next().await;
    say("stopping: running tools may finish; a second signal ends at once");
    shutdown.cancel();
    signals.next().await;
    std::process::exit(Exit::Interrupted as i32);
}

/// A connection is a file: the default limit of many systems (1,024) is below the connection cap.
pub(super) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}

fn refused(error: OpenError) -> Failure {
    let loss = matches!(error, OpenError::DataLoss { .. });
    let mut failure = Failure::from(error);
    if loss {
        failure.message += "; put the right file back, or start with what is there: --accept-data-loss";
    }
    failure
}

/// Colours are for a terminal, and only if nobody objects (no-color.org).
fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

//! The figures of a run: as JSON, and as a table with the spread of the latencies.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::counters::Growth;
use super::keys::Pattern;
use super::plot;
use super::process::Usage;
use super::schedule::Limit;
use super::tally::{Tally, per_second};
use crate::cli::exit::Failure;
use crate::cli::output::{Format, emit, emit_object, emit_pairs};
use crate::cli::source::raw;

/// How the load was made.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Setting {
    pub(super) base: String,
    /// Whether the server was started for this.
    pub(super) own_server: bool,
    /// Whether its database lies in memory; not known of a server that runs already.
    pub(super) in_memory: Option<bool>,
    pub(super) tool: String,
    pub(super) keys: &'static str,
    /// Where the pattern of keys has a share of repeats.
    pub(super) repeat: Option<f64>,
    /// Where the pattern of keys has a number of keys.
    pub(super) hot: Option<usize>,
    pub(super) concurrency: usize,
    pub(super) count: Option<u64>,
    pub(super) duration_seconds: Option<f64>,
    pub(super) rate: Option<u64>,
    pub(super) wait: bool,
}

impl Setting {
    /// The parts of it that say how much is sent, and with which keys.
    pub(super) fn limited(mut self, limit: Limit, pattern: Pattern, repeat: f64, hot: usize) -> Self {
        self.keys = pattern.name();
        self.repeat = (pattern == Pattern::Mixed).then_some(repeat);
        self.hot = (pattern == Pattern::Hot).then_some(hot);
        (self.count, self.duration_seconds) = match limit {
            Limit::Count(count) => (Some(count), None),
            Limit::Time(time) => (None, Some(time.as_secs_f64())),
        };
        self
    }
}

/// What was used while the load ran.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    /// Of the server, until all calls had settled; only of one that was started for this.
    pub(super) server_cpu: Option<Duration>,
    pub(super) server_peak_rss_bytes: Option<u64>,
    /// Of this process, until the last answer.
    pub(super) client_cpu: Option<Duration>,
}

impl Used {
    /// Processor time between two looks.
    pub(super) fn cpu(before: Option<Usage>, after: Option<Usage>) -> Option<Duration> {
        Some(after?.cpu.saturating_sub(before?.cpu))
    }
}

/// All of it, in the shape of `--output json`.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Report {
    setting: Setting,
    requests: Requests,
    latency_ms: Latency,
    calls: Calls,
    server: ServerUse,
    client: ClientUse,
    /// Whether every call that succeeded has its one effect; not known of tools that are not built in.
    effects_equal_calls: Option<bool>,
    /// Every law that was seen broken, as a sentence.
    broken: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Requests {
    accepted: u64,
    replayed: u64,
    seconds: f64,
    accepted_per_second: f64,
    unsettled: u64,
    unsent: u64,
    unknown: u64,
    retries: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Serialize)]
struct Latency {
    p50: f64,
    p95: f64,
    p99: f64,
    #[serde(rename = "p99.9")]
    p999: f64,
    max: f64,
}

#[derive(Debug, Clone, Serialize)]
struct Calls {
    keys: u64,
    calls: i64,
    completed: i64,
    seconds: f64,
    completed_per_second: f64,
    succeeded: i64,
    failed: i64,
    held: i64,
    open: i64,
    effects: i64,
    attempts: BTreeMap<u32, i64>,
}

#[derive(Debug, Clone, Serialize)]
struct ServerUse {
    cpu_us_per_call: Option<f64>,
    cpu_us_per_request: Option<f64>,
    peak_rss_bytes: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
struct ClientUse {
    cpu_us_per_request: Option<f64>,
}

impl Report {
    /// From what was measured; all calls had settled after `completed_after`.
    pub(super) fn of(
        setting: Setting,
        tally: &Tally,
        growth: &Growth,
        completed_after: Duration,
        used: Used,
        side_effect: Option<bool>,
        broken: Vec<String>,
    ) -> Self {
        let completed = growth.succeeded + growth.failed;
        let done = u64::try_from(completed).unwrap_or(0);
        Self {
            setting,
            requests: Requests {
                accepted: tally.accepted,
                replayed: tally.replayed,
                seconds: tally.wall.as_secs_f64(),
                accepted_per_second: tally.accepted_per_second(),
                unsettled: tally.unsettled,
                unsent: tally.unsent,
                unknown: tally.unknown,
                retries: tally.retries.clone(),
                errors: tally.errors.clone(),
            },
            latency_ms: Latency::of(tally),
            calls: Calls {
                keys: tally.keys_made,
                calls: growth.calls,
                completed,
                seconds: completed_after.as_secs_f64(),
                completed_per_second: per_second(done, completed_after),
                succeeded: growth.succeeded,
                failed: growth.failed,
                held: growth.held,
                open: growth.open,
                effects: growth.effects,
                attempts: growth.attempts.clone(),
            },
            server: ServerUse {
                cpu_us_per_call: per(used.server_cpu, done),
                cpu_us_per_request: per(used.server_cpu, tally.accepted),
                peak_rss_bytes: used.server_peak_rss_bytes,
            },
            client: ClientUse { cpu_us_per_request: per(used.client_cpu, tally.ended()) },
            effects_equal_calls: side_effect
                .map(|owes| growth.effects == if owes { growth.succeeded } else { 0 }),
            broken,
        }
    }

    /// Shows it.
    pub(super) fn show(&self, tally: &Tally, format: Format) -> Result<(), Failure> {
        if format != Format::Table {
            return emit_object(raw(self).get(), format);
        }
        emit_pairs(&self.rows())?;
        let spread = plot::lines(&tally.latency);
        if !spread.is_empty() {
            emit("\n latency of accepted requests")?;
        }
        spread.iter().try_for_each(|line| emit(line))
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let Self { setting, requests, latency_ms: latency, calls, .. } = self;
        let mut rows = vec![
            ("server", server(setting)),
            ("load", load(setting)),
            (
                "accepted",
                format!(
                    "{} requests in {:.2} s: {:.0} a second; {} of them replays",
                    requests.accepted, requests.seconds, requests.accepted_per_second, requests.replayed
                ),
            ),
            (
                "completed",
                format!(
                    "{} calls in {:.2} s: {:.0} a second",
                    calls.completed, calls.seconds, calls.completed_per_second
                ),
            ),
            (
                "latency",
                format!(
                    "p50 {} · p95 {} · p99 {} · p99.9 {} · max {} ms",
                    ms(latency.p50),
                    ms(latency.p95),
                    ms(latency.p99),
                    ms(latency.p999),
                    ms(latency.max)
                ),
            ),
            ("attempts", counts(&calls.attempts, "none")),
            ("retries", counts(&requests.retries, "none")),
            ("errors", counts(&requests.errors, "none")),
        ];
        rows.extend(self.exceptions());
        if let (Some(cpu), Some(rss)) = (self.server.cpu_us_per_request, self.server.peak_rss_bytes) {
            let by_call = self.server.cpu_us_per_call.map_or("-".into(), |cpu| format!("{cpu:.1}"));
            rows.push((
                "server used",
                format!(
                    "{by_call} µs of processor a completed call, {cpu:.1} µs a request; at most {:.1} MiB",
                    rss as f64 / 1024.0 / 1024.0
                ),
            ));
        }
        if let Some(cpu) = self.client.cpu_us_per_request {
            rows.push(("client used", format!("{cpu:.1} µs of processor a request")));
        }
        rows.push(("check", self.check()));
        rows
    }

    /// What does not happen in a run that went well.
    fn exceptions(&self) -> Vec<(&'static str, String)> {
        let Self { requests, calls, .. } = self;
        let unsettled = requests.unsettled.cast_signed();
        let (unsent, unknown) = (requests.unsent.cast_signed(), requests.unknown.cast_signed());
        [
            ("unknown", unknown, "requests without an answer: each may have become a call"),
            ("unsent", unsent, "requests were due and never sent: the server did not keep up, and the latencies leave them out"),
            ("unsettled", unsettled, "answers came before their calls had settled"),
            ("failed", calls.failed, "calls failed"),
            ("held", calls.held, "calls are held: their outcome is unknown"),
            ("open", calls.open, "calls had not settled when the wait for them was over"),
        ]
        .into_iter()
        .filter(|(_, count, _)| *count != 0)
        .map(|(name, count, what)| (name, format!("{count} {what}")))
        .collect()
    }

    fn check(&self) -> String {
        let calls = &self.calls;
        if !self.broken.is_empty() {
            return format!("BROKEN: {}", self.broken.join("; "));
        }
        let found = format!(
            "{} keys sent, {} calls, {} succeeded, {} effects",
            calls.keys, calls.calls, calls.succeeded, calls.effects
        );
        match self.effects_equal_calls {
            Some(_) => format!("{found}: nothing doubled, nothing lost"),
            None => format!("{found}: whether this tool owes effects is not known here"),
        }
    }
}

impl Latency {
    fn of(tally: &Tally) -> Self {
        let quantile = |q: f64| tally.latency.value_at_quantile(q) as f64 / 1000.0;
        // The histogram rounds up; the highest one is rounded as all others are.
        Self {
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: quantile(1.0),
        }
    }
}

/// Microseconds for each; nothing where there is none.
fn per(time: Option<Duration>, count: u64) -> Option<f64> {
    let micros = time?.as_secs_f64() * 1e6;
    (count > 0).then(|| micros / count as f64)
}

/// Three digits that count.
fn ms(millis: f64) -> String {
    match millis {
        ..1.0 => format!("{millis:.3}"),
        ..10.0 => format!("{millis:.2}"),
        ..100.0 => format!("{millis:.1}"),
        _ => format!("{millis:.0}"),
    }
}

fn counts<K: std::fmt::Display, N: std::fmt::Display>(counts: &BTreeMap<K, N>, none: &str) -> String {
    let parts: Vec<_> = counts.iter().map(|(what, count)| format!("{what}: {count}")).collect();
    if parts.is_empty() { none.into() } else { parts.join(", ") }
}

fn server(setting: &Setting) -> String {
    match (setting.own_server, setting.in_memory) {
        (true, Some(true)) => format!("its own, {}, database in memory", setting.base),
        (true, _) => format!("its own, {}, database on disk", setting.base),
        (false, _) => setting.base.clone(),
    }
}

fn load(setting: &Setting) -> String {
    let keys = match (setting.repeat, setting.hot) {
        (Some(share), _) => format!("mixed keys ({share} repeats)"),
        (_, Some(hot)) => format!("{hot} hot keys"),
        (None, None) => format!("{} keys", setting.keys),
    };
    let pace = setting.rate.map_or("closed loop".into(), |rate| format!("open loop, {rate} a second"));
    let wait = if setting.wait { ", each answer waits for its call" } else { "" };
    format!("{}, {keys}, {} connections, {pace}{wait}", setting.tool, setting.concurrency)
}

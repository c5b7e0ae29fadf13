//! The figures of a run, in the shape of `--output json`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::counters::Growth;
use super::keys::Pattern;
use super::plot;
use super::process::Usage;
use super::schedule::Limit;
use super::table;
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
    pub(super) setting: Setting,
    pub(super) requests: Requests,
    pub(super) latency_ms: Latency,
    pub(super) calls: Calls,
    pub(super) server: ServerUse,
    pub(super) client: ClientUse,
    /// Whether every call that succeeded has its one effect; not known of tools that are not built in.
    pub(super) effects_equal_calls: Option<bool>,
    /// Every law that was seen broken, as a sentence.
    pub(super) broken: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Requests {
    pub(super) accepted: u64,
    pub(super) replayed: u64,
    pub(super) seconds: f64,
    pub(super) accepted_per_second: f64,
    pub(super) unsettled: u64,
    pub(super) unsent: u64,
    pub(super) unknown: u64,
    pub(super) retries: BTreeMap<String, u64>,
    pub(super) errors: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Latency {
    pub(super) p50: f64,
    pub(super) p95: f64,
    pub(super) p99: f64,
    #[serde(rename = "p99.9")]
    pub(super) p999: f64,
    pub(super) max: f64,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Calls {
    /// Those that the load was the first to send.
    pub(super) keys: u64,
    /// Those that it found made, and may have sent again.
    pub(super) keys_of_warm_up: u64,
    pub(super) calls: i64,
    pub(super) completed: i64,
    pub(super) seconds: f64,
    pub(super) completed_per_second: f64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) held: i64,
    pub(super) open: i64,
    pub(super) effects: i64,
    pub(super) attempts: BTreeMap<u32, i64>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct ServerUse {
    pub(super) cpu_us_per_call: Option<f64>,
    pub(super) cpu_us_per_request: Option<f64>,
    pub(super) peak_rss_bytes: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct ClientUse {
    pub(super) cpu_us_per_request: Option<f64>,
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
                keys_of_warm_up: tally.keys_before,
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
        emit_pairs(&table::rows(self))?;
        let spread = plot::lines(&tally.latency);
        if !spread.is_empty() {
            emit("\n latency of accepted requests")?;
        }
        spread.iter().try_for_each(|line| emit(line))
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

//! `GET /metrics`: what happened, for Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::error::ApiError;
use super::router::App;
use crate::engine::observe::{Happening, Observe};
use crate::engine::{EngineError, Stats, Store};

/// All metrics of one server. There is no global registry, so two servers in one process do not mix.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    events: Family<EventLabels, Counter>,
    runs: Family<RunLabels, Counter>,
    run_seconds: Family<ToolLabels, Histogram, fn() -> Histogram>,
    append_seconds: Histogram,
    replays: Counter,
    conflicts: Counter,
    overloads: Counter,
    stale_reports: Counter,
    store_faults: Counter,
    calls: Family<StatusLabels, Gauge>,
    held: Gauge,
    effects: Gauge,
    lease_over: Gauge,
    oldest_pending_seconds: Gauge<f64, AtomicU64>,
    wal_bytes: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    event: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    tool: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: &'static str,
}

/// From 0.1 ms to some 26 s: a commit on a fast disk up to a tool at the default limit.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 4.0, 10))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("callonce"),
            requests: Family::default(),
            events: Family::default(),
            runs: Family::default(),
            run_seconds: Family::new_with_constructor(seconds),
            append_seconds: seconds(),
            replays: Counter::default(),
            conflicts: Counter::default(),
            overloads: Counter::default(),
            stale_reports: Counter::default(),
            store_faults: Counter::default(),
            calls: Family::default(),
            held: Gauge::default(),
            effects: Gauge::default(),
            lease_over: Gauge::default(),
            oldest_pending_seconds: Gauge::default(),
            wal_bytes: Gauge::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests answered", self.requests.clone());
        registry.register("events", "Events appended to the log by this process", self.events.clone());
        registry.register("tool_runs", "Attempts whose tool ended, by outcome", self.runs.clone());
        registry.register("tool_seconds", "How long tools ran", self.run_seconds.clone());
        registry.register(
            "append_seconds",
            "How long appends took, fsync included",
            self.append_seconds.clone(),
        );
        registry.register("replays", "Requests that repeated a known call", self.replays.clone());
        registry.register(
            "conflicts",
            "Requests that used a known key for something else",
            self.conflicts.clone(),
        );
        registry.register(
            "overloads",
            "Requests refused because too much was under way",
            self.overloads.clone(),
        );
        registry.register(
            "stale_reports",
            "Reports of attempts that were not current any more",
            self.stale_reports.clone(),
        );
        registry.register("store_faults", "Errors of the store", self.store_faults.clone());
        registry.register("calls", "Calls stored, by status", self.calls.clone());
        registry.register("held_calls", "Calls whose outcome is unknown", self.held.clone());
        registry.register("effects", "Effects recorded", self.effects.clone());
        registry.register("lease_over_calls", "Running calls whose lease is over", self.lease_over.clone());
        let oldest = self.oldest_pending_seconds.clone();
        registry.register("oldest_pending_seconds", "Age of the oldest pending call", oldest);
        registry.register("wal_bytes", "Size of the write-ahead log", self.wal_bytes.clone());
    }

    /// Counts an answer.
    pub(super) fn answered(&self, method: &'static str, status: StatusCode) {
        self.requests.get_or_create(&RequestLabels { method, status: status.as_u16() }).inc();
    }

    fn show(&self, stats: &Stats, oldest_pending: Duration) {
        for status in crate::domain::Status::ALL {
            let count = stats.by_status.get(&status).copied().unwrap_or(0);
            self.calls.get_or_create(&StatusLabels { status: status.as_str() }).set(gauge(count));
        }
        self.held.set(gauge(stats.held));
        self.effects.set(gauge(stats.effects));
        self.lease_over.set(gauge(stats.lease_over));
        self.oldest_pending_seconds.set(oldest_pending.as_secs_f64());
        self.wal_bytes.set(gauge(stats.wal_bytes));
    }
}

impl Observe for Metrics {
    fn observe(&self, happening: &Happening<'_>) {
        match happening {
            Happening::Appended { events, took, .. } => {
                self.append_seconds.observe(took.as_secs_f64());
                for event in *events {
                    self.events.get_or_create(&EventLabels { event: event.name() }).inc();
                }
            }
            Happening::ToolEnded { tool, outcome, ran } => {
                let tool = (*tool).to_string();
                self.run_seconds.get_or_create(&ToolLabels { tool: tool.clone() }).observe(ran.as_secs_f64());
                self.runs.get_or_create(&RunLabels { tool, outcome }).inc();
            }
            Happening::StaleReport { .. } => drop(self.stale_reports.inc()),
            Happening::Overloaded => drop(self.overloads.inc()),
            Happening::Replayed => drop(self.replays.inc()),
            Happening::Conflict => drop(self.conflicts.inc()),
            Happening::StoreFailed { .. } => drop(self.store_faults.inc()),
        }
    }
}

pub(super) async fn metrics<S: Store>(State(app): State<App<S>>) -> Result<Response, ApiError> {
    let stats = app.engine.stats().await?;
    let oldest = stats.oldest_pending.map(|created| app.engine.now().since(created)).unwrap_or_default();
    app.metrics.show(&stats, oldest);
    let mut text = String::new();
    encode(&mut text, &app.metrics.registry).map_err(|error| EngineError::Internal(error.to_string()))?;
    let content_type = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(CONTENT_TYPE, content_type)], text).into_response())
}

/// A method as a label: the known ones by name, so that nobody can fill the registry with invented ones.
pub(super) fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        _ => "other",
    }
}

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

//! The figures of a run as rows for people.

use std::collections::BTreeMap;

use super::report::{Report, Setting};

/// Every figure, by its name.
pub(super) fn rows(report: &Report) -> Vec<(&'static str, String)> {
    let Report { setting, requests, latency_ms: latency, calls, .. } = report;
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
    rows.extend(exceptions(report));
    if let (Some(cpu), Some(rss)) = (report.server.cpu_us_per_request, report.server.peak_rss_bytes) {
        let by_call = report.server.cpu_us_per_call.map_or("-".into(), |cpu| format!("{cpu:.1}"));
        rows.push((
            "server used",
            format!(
                "{by_call} µs of processor a completed call, {cpu:.1} µs a request; at most {:.1} MiB",
                rss as f64 / 1024.0 / 1024.0
            ),
        ));
    }
    if let Some(cpu) = report.client.cpu_us_per_request {
        rows.push(("client used", format!("{cpu:.1} µs of processor a request")));
    }
    rows.push(("check", check(report)));
    rows
}

/// What does not happen in a run that went well.
fn exceptions(report: &Report) -> Vec<(&'static str, String)> {
    let Report { requests, calls, .. } = report;
    let unsettled = requests.unsettled.cast_signed();
    let (unsent, unknown) = (requests.unsent.cast_signed(), requests.unknown.cast_signed());
    [
        ("unknown", unknown, "requests without an answer: each may have become a call"),
        (
            "unsent",
            unsent,
            "requests were due and never sent: the server did not keep up, and the latencies leave them out",
        ),
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

fn check(report: &Report) -> String {
    let calls = &report.calls;
    if !report.broken.is_empty() {
        return format!("BROKEN: {}", report.broken.join("; "));
    }
    let (sent, new) = match calls.keys_of_warm_up {
        0 => (format!("{} keys sent", calls.keys), ""),
        warm => (format!("{} new keys sent beside the {warm} of the warm-up", calls.keys), "new "),
    };
    let found = format!(
        "{sent}, {} {new}calls, {} succeeded, {} effects",
        calls.calls, calls.succeeded, calls.effects
    );
    match report.effects_equal_calls {
        Some(_) => format!("{found}: nothing doubled, nothing lost"),
        None => format!("{found}: whether this tool owes effects is not known here"),
    }
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

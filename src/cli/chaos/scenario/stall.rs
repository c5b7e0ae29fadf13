//! The server is stopped past a lease and wakes up: what it then reports is too late.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::key;
use crate::cli::chaos::stage::{PATIENCE, Stage};
use crate::cli::chaos::story::{Counted, Story, TIMEOUT, Told, look, member};
use crate::cli::exit::Failure;
use crate::cli::output::Format;
use crate::domain::id::IdemKey;
use crate::engine::clock::Stopwatch;
use crate::http::client::Client;

pub(super) const NAME: &str = "stall";
pub(super) const DOES: &str = "the server is stopped (SIGSTOP) past a lease and goes on (SIGCONT); its first attempt reports only after a second began";
pub(super) const DEMANDS: &str =
    "the late report is refused, and the second attempt's counts, with one effect";

/// Several times what a second attempt takes, so that it ends within its own lease on a slow machine too.
const LEASE: Duration = Duration::from_secs(2);
/// Shorter than the lease, as the server demands.
const TIME_LIMIT: &str = "1900ms";

/// One whose second attempt is still running when the first reports, and one that is over by then.
const CALLS: [(&str, &str); 2] = [
    ("stall-running", r#"{"tool":"sleep","args":{"seconds":0.5,"_stall_before_report":true}}"#),
    ("stall-over", r#"{"tool":"charge","args":{"amount":100,"_stall_before_report":true}}"#),
];

pub(super) async fn play(program: &Path, format: Format) -> Result<Told, Failure> {
    let mut story = Story::begin(NAME, DOES, format)?;
    let mut stage = Stage::set(program)?;
    let lease = format!("{}s", LEASE.as_secs());
    let options = ["--chaos", "--lease", &lease, "--time-limit", TIME_LIMIT];
    let address = stage.serve(&options, &[]).await?;
    let client = Stage::client(&address)?;
    for (name, body) in CALLS {
        story.send(&client, &key(name), body).await?;
    }
    for (name, _) in CALLS {
        let attempt = claimed(&client, &key(name)).await;
        story.expect(format!("{name} has begun"), attempt, Some(Value::from(1)))?;
    }
    story.step(format!("SIGSTOP, for longer than the lease of {lease}"))?;
    stage.signal(Signal::STOP);
    let watch = Stopwatch::start();
    for (name, body) in CALLS {
        let unheard = story.send(&client, &key(name), body).await?;
        story.expect("a stopped server does not answer", unheard, None)?;
    }
    // Every lease was given before the server was stopped, so from then on it is over after its whole length.
    tokio::time::sleep(LEASE.saturating_sub(watch.elapsed())).await;
    story.step("SIGCONT")?;
    stage.signal(Signal::CONT);
    for (name, body) in CALLS {
        let call = story.settle(&client, &key(name), body).await?;
        let ended = call.map(|call| (call.status, call.attempt));
        story.expect(
            format!("{name} is done, by its second attempt"),
            ended,
            Some(("succeeded".into(), 2)),
        )?;
    }
    story.expect("both late reports were refused", refused(&client, CALLS.len()).await, CALLS.len())?;
    let stats = story.stats(&client).await?;
    story.expect("two calls, of which one has an effect", stats, Some(Counted { calls: 2, effects: 1 }))?;
    story.judge(stage).await
}

/// The number of the attempt that has claimed the call, once one has.
async fn claimed(client: &Client, key: &IdemKey) -> Option<Value> {
    let path = format!("/v1/tool-calls/by-key/{key}");
    let watch = Stopwatch::start();
    while watch.elapsed() < PATIENCE {
        let attempt = member(client, &path, "attempt").await?;
        if attempt != 0 {
            return Some(attempt);
        }
    }
    None
}

/// How many late reports the server says it refused, once it says so many or nothing more is to be expected.
async fn refused(client: &Client, wanted: usize) -> usize {
    let watch = Stopwatch::start();
    loop {
        let metrics = look(client, "/metrics").await.unwrap_or_default();
        let line = metrics.lines().find_map(|line| line.strip_prefix("callonce_stale_reports_total "));
        let count = line.and_then(|count| count.trim().parse().ok()).unwrap_or(0);
        if count >= wanted || watch.elapsed() > TIMEOUT {
            return count;
        }
    }
}

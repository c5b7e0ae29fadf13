//! Many clients, or one with many threads, send one request at one moment.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::{CHARGE, key};
use crate::cli::chaos::stage::{PATIENCE, Stage};
use crate::cli::chaos::story::{Counted, Story, Told, look, post};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Format;

pub(super) const NAME: &str = "concurrent";
pub(super) const DOES: &str = "twelve clients send one request with one key at one moment";
pub(super) const DEMANDS: &str = "all twelve are answered with one call, which has one effect";

/// As many as a client library with a small pool would send.
const CLIENTS: usize = 12;
/// Every round has a key of its own. A race that is lost one time in three is seen.
const ROUNDS: usize = 3;

pub(super) async fn play(program: &Path, format: Format) -> Result<Told, Failure> {
    let mut story = Story::begin(NAME, DOES, format)?;
    let mut stage = Stage::set(program)?;
    let address = stage.serve(&[], &[]).await?;
    for round in 1..=ROUNDS {
        story.step(format!("round {round}"))?;
        let key = key(&format!("concurrent-{round}"));
        let barrier = Arc::new(Barrier::new(CLIENTS));
        let mut running = JoinSet::new();
        for _ in 0..CLIENTS {
            let client = Stage::client(&address)?;
            let number = story.sends(&key, CHARGE)?;
            let (key, barrier) = (key.clone(), Arc::clone(&barrier));
            running.spawn(async move {
                // Connected first, so that nothing but the request is left to send.
                let _ = look(&client, "/livez").await;
                barrier.wait().await;
                (number, post(&client, &key, CHARGE, None, PATIENCE).await)
            });
        }
        let mut calls = Vec::new();
        while let Some(done) = running.join_next().await {
            let (number, heard) = done.map_err(|fault| Failure::new(Exit::Open, fault.to_string()))?;
            calls.extend(story.heard(number, &key, &heard)?);
        }
        let ids: BTreeSet<_> = calls.iter().map(|call| call.call_id.as_str()).collect();
        story.expect("all are answered, and with one call", (calls.len(), ids.len()), (CLIENTS, 1))?;
        let done = story.settle(&Stage::client(&address)?, &key, CHARGE).await?;
        story.expect("it is done", done.map(|call| call.status), Some("succeeded".into()))?;
    }
    let stats = story.stats(&Stage::client(&address)?).await?;
    let one_each = Counted { calls: ROUNDS as u64, effects: ROUNDS as u64 };
    story.expect("one call and one effect for each key", stats, Some(one_each))?;
    story.judge(stage).await
}

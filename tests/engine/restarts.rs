//! What a former process left behind: taken up at once, counted, held or ended, never forgotten.

use std::time::Duration;

use callonce::domain::Status;
use callonce::domain::call::Call;
use callonce::engine::tools::{Interrupted, Registry};
use callonce::engine::{Settings, Snapshot};
use callonce::store::memory::MemoryStore;

use crate::harness::{Act, Puppet, one_worker, samples_and, start};

/// A store in which a former process was running attempt `attempts` of a call when it died.
async fn dies_running(attempts: u32, interrupted: Interrupted) -> (MemoryStore, Snapshot) {
    let store = MemoryStore::new();
    let mut call = None;
    for _ in 0..attempts {
        let puppet = Puppet::new("puppet", interrupted, &[Act::Hang]);
        let world = start(&store, samples_and([puppet as _]), Settings::default()).await;
        let submitted = world.submit("k", "puppet", "{}").await.expect("accepted").snapshot;
        call = Some(world.becomes(&submitted, Status::Running).await);
        // The world is dropped where it stands, as by kill -9: nothing more of it reaches the store.
    }
    (store, call.expect("at least one attempt"))
}

#[tokio::test]
async fn a_restart_runs_it_again_at_once() {
    let (store, call) = dies_running(1, Interrupted::Replay).await;
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::Succeed]);
    let world = start(&store, samples_and([puppet.clone() as _]), Settings::default()).await;
    let done = world.settled(&call).await;
    assert_eq!(done.call.attempts(), 2);
    assert_eq!(puppet.effect_ids(), [call.call.request().expect("a call").effect_id()]);
    assert_eq!(world.events(&done).await, ["created", "claimed", "recover", "claimed", "succeeded"]);
}

#[tokio::test]
async fn a_call_that_kills_its_process_ends() {
    let (store, call) = dies_running(5, Interrupted::Replay).await;
    let settings = Settings { max_attempts: 5, ..Settings::default() };
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::Succeed]);
    let world = start(&store, samples_and([puppet.clone() as _]), settings).await;
    let ended = world.settled(&call).await;
    let Call::Failed { error, attempts: 5, .. } = &ended.call else { panic!("{ended:?}") };
    assert_eq!((error.code.as_str(), error.retryable), ("retry_exhausted", false));
    assert_eq!(error.cause.as_deref(), Some("owner_gone"));
    assert_eq!(puppet.runs(), 0);
}

#[tokio::test]
async fn a_call_whose_tool_has_gone_is_held_and_blocks_nobody() {
    let (store, call) = dies_running(1, Interrupted::Replay).await;
    let world = start(&store, Registry::samples(), one_worker()).await;
    let held = world.settled(&call).await;
    assert!(matches!(held.call, Call::Held { .. }), "{held:?}");
    let next = world.settle("k2", "sleep", "{}").await;
    assert!(matches!(next.call, Call::Succeeded { .. }));
}

#[tokio::test]
async fn a_pending_call_whose_tool_has_gone_waits_for_it() {
    let store = MemoryStore::new();
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::Hang]);
    let world = start(&store, samples_and([puppet as _]), one_worker()).await;
    let first = world.submit("k1", "puppet", "{}").await.expect("accepted").snapshot;
    world.becomes(&first, Status::Running).await;
    let waits = world.submit("k2", "puppet", "{}").await.expect("accepted").snapshot;

    let world = start(&store, Registry::samples(), one_worker()).await;
    world.settle("k3", "charge", r#"{"amount":1}"#).await;
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::Succeed]);
    let world = start(&store, samples_and([puppet as _]), one_worker()).await;
    let done = world.settled(&waits).await;
    assert_eq!(world.events(&done).await, ["created", "claimed", "succeeded"], "waiting cost it no attempt");
}

#[tokio::test]
async fn what_is_stopped_claims_nothing_and_finishes_what_runs() {
    let store = MemoryStore::new();
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::Wait]);
    let settings = Settings { workers: 4.try_into().expect("not zero"), ..Settings::default() };
    let world = start(&store, samples_and([puppet.clone() as _]), settings).await;
    let mut calls = vec![];
    for key in 0..100 {
        calls.push(world.submit(&format!("k{key}"), "puppet", "{}").await.expect("accepted").snapshot);
    }
    for call in &calls[..4] {
        world.becomes(call, Status::Running).await;
    }
    let engine = world.engine.clone();
    let stopping = tokio::spawn(async move { engine.stop(Duration::from_secs(600)).await });
    while world.engine.health() != Err("shutting down".into()) {
        tokio::task::yield_now().await;
    }
    puppet.go.add_permits(100);
    assert!(stopping.await.expect("no panic"), "drained");
    assert_eq!(puppet.runs(), 4);
}

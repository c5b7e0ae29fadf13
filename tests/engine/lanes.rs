//! The way to the workers: nobody is overtaken, nobody is forgotten, a stuck tool blocks no other.

use callonce::domain::Status;
use callonce::domain::call::Call;
use callonce::engine::Settings;
use callonce::engine::tools::{Interrupted, Registry};
use callonce::store::memory::MemoryStore;

use crate::harness::{Act, Puppet, samples_and, start, submission};

/// More than a lane holds, so that the rest waits in the store.
const MANY: usize = 5000;

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_memory_holds_all_run_once() {
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::Wait]);
    let world = start(&MemoryStore::new(), samples_and([puppet.clone() as _]), Settings::default()).await;
    let mut last = None;
    for key in 0..MANY {
        last = Some(world.submit(&format!("k{key}"), "puppet", "{}").await.expect("accepted").snapshot);
    }
    puppet.go.add_permits(MANY);
    world.settled(&last.expect("many")).await;
    for key in 0..MANY {
        let call = world.engine.find(&submission(&format!("k{key}"), "puppet", "{}").key).await;
        let done = world.settled(&call.expect("works").expect("is there")).await;
        assert!(matches!(done.call, Call::Succeeded { attempts: 1, .. }), "{done:?}");
    }
    assert_eq!(puppet.runs() as usize, MANY);
}

#[tokio::test]
async fn a_stuck_tool_does_not_block_those_that_wait_for_nothing() {
    let stuck = Puppet::new("stuck", Interrupted::Replay, &[Act::Hang]);
    let world = start(&MemoryStore::new(), samples_and([stuck as _]), Settings::default()).await;
    for key in 0..MANY {
        world.submit(&format!("stuck{key}"), "stuck", "{}").await.expect("accepted");
    }
    for key in 0..100 {
        let done = world.settle(&format!("k{key}"), "charge", r#"{"amount":1}"#).await;
        assert!(matches!(done.call, Call::Succeeded { .. }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_leaves_no_call_that_nothing_runs() {
    let world = start(&MemoryStore::new(), Registry::samples(), Settings::default()).await;
    for key in 0..2000 {
        let engine = world.engine.clone();
        let request = tokio::spawn(async move {
            engine.submit(submission(&format!("k{key}"), "charge", r#"{"amount":1}"#)).await
        });
        if key % 3 > 0 {
            tokio::task::yield_now().await;
        }
        request.abort();
        let _ = request.await;
    }
    for key in 0..2000 {
        let key = submission(&format!("k{key}"), "charge", "{}").key;
        if let Some(call) = world.engine.find(&key).await.expect("works") {
            let done = world.becomes(&call, Status::Succeeded).await;
            assert_eq!(world.events(&done).await, ["created", "claimed", "succeeded"]);
        }
    }
}

//! Waiting for a call: woken by what happens to it, and by nothing else.

use std::time::Duration;

use callonce::domain::Status;
use callonce::domain::id::{CallId, Version};
use callonce::engine::tools::{Interrupted, Registry};
use callonce::engine::{Settings, Until};
use callonce::store::memory::MemoryStore;

use crate::harness::{Act, Puppet, samples_and, start};

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_call_as_it_is_when_time_is_up() {
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::Wait]);
    let world = start(&MemoryStore::new(), samples_and([puppet as _]), Settings::default()).await;
    let call = world.submit("k", "puppet", "{}").await.expect("accepted").snapshot;
    let id = call.call.request().expect("a call").call_id;
    let open = world.engine.wait(id, Until::Settled, Duration::from_secs(2)).await;
    let open = open.expect("works").expect("is there");
    assert_eq!(open.call.status(), Some(Status::Running), "the newest state, not the first one seen");
}

#[tokio::test]
async fn every_version_can_be_waited_for() {
    let world = start(&MemoryStore::new(), Registry::samples(), Settings::default()).await;
    let call = world.submit("k", "charge", r#"{"amount":1}"#).await.expect("accepted").snapshot;
    let id = call.call.request().expect("a call").call_id;
    let mut seen = Version::NONE;
    while seen < Version(3) {
        let next = world.engine.wait(id, Until::Changed(seen), Duration::from_secs(600)).await;
        let next = next.expect("works").expect("is there");
        assert!(next.version > seen);
        seen = next.version;
    }
}

#[tokio::test]
async fn nobody_waits_for_a_call_that_is_not_there() {
    let world = start(&MemoryStore::new(), Registry::samples(), Settings::default()).await;
    let id = CallId::from_bytes([7; 16]);
    assert_eq!(world.engine.wait(id, Until::Settled, Duration::from_secs(600)).await.expect("works"), None);
}

//! Leases that run out under a worker: the next attempt has a higher number, the late report is refused.

use std::time::Duration;

use callonce::domain::Status;
use callonce::domain::call::Call;
use callonce::domain::time::Timestamp;
use callonce::engine::Settings;
use callonce::engine::clock::Clock;
use callonce::engine::tools::Interrupted;
use callonce::store::memory::MemoryStore;

use crate::harness::{Act, Puppet, samples_and, start};

const NOON: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn clocked() -> (Clock, Settings) {
    let clock = Clock::manual(NOON);
    (clock.clone(), Settings { clock, ..Settings::default() })
}

#[tokio::test]
async fn a_late_report_is_refused_and_counted() {
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::Wait, Act::Wait]);
    let (clock, settings) = clocked();
    let mut world = start(&MemoryStore::new(), samples_and([puppet.clone() as _]), settings).await;
    let call = world.submit("k", "puppet", "{}").await.expect("accepted").snapshot;
    world.becomes(&call, Status::Running).await;

    clock.set(NOON.plus(Duration::from_secs(31)));
    world.observes("Recover").await;
    world.observes("Claimed").await;
    // The first attempt waits longest, so it is the one let go: it is not the current one any more.
    puppet.go.add_permits(1);
    world.observes("StaleReport").await;
    puppet.go.add_permits(1);
    let done = world.settled(&call).await;
    let Call::Succeeded { attempts, result, .. } = &done.call else { panic!("{done:?}") };
    assert_eq!((*attempts, result.as_str()), (2, "2"), "the current attempt's report counts");
    assert_eq!(world.events(&done).await, ["created", "claimed", "recover", "claimed", "succeeded"]);
}

/// A downstream that honours the id applies one effect; had each attempt an id of its own, it would apply each.
#[tokio::test]
async fn every_attempt_has_the_effect_id_of_its_call() {
    let puppet = Puppet::new("puppet", Interrupted::Replay, &[Act::FailRetryably, Act::Hang, Act::Succeed]);
    let (clock, settings) = clocked();
    let world = start(&MemoryStore::new(), samples_and([puppet.clone() as _]), settings).await;
    let failed = world.settle("k", "puppet", "{}").await;
    world.submit("k", "puppet", "{}").await.expect("may retry");
    world.becomes(&failed, Status::Running).await;
    clock.set(NOON.plus(Duration::from_secs(31)));
    let done = world.becomes(&failed, Status::Succeeded).await;
    let effect_id = done.call.request().expect("a call").effect_id();
    assert_eq!(puppet.effect_ids(), [effect_id; 3], "failed, lost and succeeded");
}

#[tokio::test]
async fn a_held_call_believes_its_own_late_report() {
    let puppet = Puppet::new("puppet", Interrupted::Hold, &[Act::Wait]);
    let (clock, settings) = clocked();
    let world = start(&MemoryStore::new(), samples_and([puppet.clone() as _]), settings).await;
    let call = world.submit("k", "puppet", "{}").await.expect("accepted").snapshot;
    world.becomes(&call, Status::Running).await;
    clock.set(NOON.plus(Duration::from_secs(3600)));
    let held = world.settled(&call).await;
    assert!(matches!(held.call, Call::Held { .. }), "{held:?}");
    puppet.go.add_permits(1);
    let done = world.becomes(&call, Status::Succeeded).await;
    assert_eq!(world.events(&done).await, ["created", "claimed", "recover", "succeeded"]);
}

#[tokio::test]
async fn a_clock_that_jumps_doubles_nothing() {
    let (clock, settings) = clocked();
    let world = start(&MemoryStore::new(), samples_and([]), settings).await;
    for (turn, jump) in [0i64, 31, -86_400, 86_400 * 3650, -86_400 * 3650, 1].into_iter().enumerate() {
        clock.set(Timestamp::from_micros(NOON.as_micros() + jump * 1_000_000));
        let done = world.settle(&format!("k{turn}"), "charge", r#"{"amount":1}"#).await;
        assert_eq!(world.events(&done).await, ["created", "claimed", "succeeded"], "jump of {jump} s");
    }
    assert_eq!(world.engine.stats().await.expect("works").effects, 6);
}

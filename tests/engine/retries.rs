//! A tool whose failed calls the server itself tries again: in its time, spread out, and within its bounds.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use callonce::domain::backoff::Backoff;
use callonce::domain::call::Call;
use callonce::domain::event::{Event, Verdict};
use callonce::domain::id::Version;
use callonce::domain::time::Timestamp;
use callonce::engine::clock::Clock;
use callonce::engine::tools::{Interrupted, Retries, Terms};
use callonce::engine::{Settings, Snapshot, Until};
use callonce::store::memory::MemoryStore;

use crate::harness::{Act, Puppet, World, samples_and, start};

const START: Timestamp = Timestamp::from_micros(1_780_000_000_000_000);
/// So long that no test waits for it, unless it moves the clock.
const HOUR: Duration = Duration::from_secs(3600);

fn retries(base: Duration, budget: Duration) -> Retries {
    Retries { backoff: Backoff { base, cap: base }, budget }
}

/// A tool that ends its attempts like this, and is tried again by the server.
fn tried_again(acts: &[Act], retries: Retries, max_attempts: u32) -> Arc<Puppet> {
    let mut puppet = Puppet::new("puppet", Interrupted::Replay, acts);
    let terms = &mut Arc::get_mut(&mut puppet).expect("nobody else has it").terms;
    *terms = Terms { retries: Some(retries), max_attempts: Some(max_attempts), ..*terms };
    puppet
}

fn clocked() -> (Clock, Settings) {
    let clock = Clock::manual(START);
    (clock.clone(), Settings { clock, ..Settings::default() })
}

/// When each retry of the call is due, and who asked for it.
async fn due_times(world: &World, call: &Snapshot) -> Vec<Timestamp> {
    let id = call.call.request().expect("a call").call_id;
    let history = world.engine.history(id, Version::NONE, 1000).await.expect("works");
    let by_the_server = |event: &Event| {
        if let Event::RetryReset { due, by: Verdict::Server, .. } = event { *due } else { None }
    };
    history.iter().filter_map(|recorded| by_the_server(&recorded.entry.event)).collect()
}

/// The call once its first attempt has failed and it waits for the second one; never seen as failed on the way.
async fn put_off(world: &World, mut seen: Snapshot) -> Snapshot {
    let id = seen.call.request().expect("a call").call_id;
    while seen.version < Version(4) {
        seen = world
            .engine
            .wait(id, Until::Changed(seen.version), HOUR)
            .await
            .expect("works")
            .expect("is there");
        assert!(!matches!(seen.call, Call::Failed { .. }), "{seen:?}");
    }
    seen
}

#[tokio::test]
async fn a_call_that_fails_and_then_succeeds_is_one_wait_for_its_client() {
    let (_, settings) = clocked();
    let acts = [Act::FailRetryably, Act::NotKnow, Act::Panic, Act::Succeed];
    let puppet = tried_again(&acts, retries(Duration::ZERO, HOUR), 20);
    let world = start(&MemoryStore::new(), samples_and([puppet.clone() as _]), settings).await;
    let done = world.settle("k", "puppet", "{}").await;
    assert!(matches!(done.call, Call::Succeeded { attempts: 4, .. }), "{done:?}");
    let attempt = ["claimed", "failed", "retry_reset"];
    let expected = [&["created"][..], &attempt, &attempt, &attempt, &["claimed", "succeeded"]].concat();
    assert_eq!(world.events(&done).await, expected);
    let effect_id = done.call.request().expect("a call").effect_id();
    assert_eq!(puppet.effect_ids(), [effect_id; 4], "the same for every attempt");
}

#[tokio::test]
async fn nobody_sees_a_failure_between_two_tries() {
    let (_, settings) = clocked();
    let puppet = tried_again(&[Act::FailRetryably], retries(HOUR, 2 * HOUR), 20);
    let world = start(&MemoryStore::new(), samples_and([puppet as _]), settings).await;
    let seen = world.submit("k", "puppet", "{}").await.expect("accepted").snapshot;
    let seen = put_off(&world, seen).await;
    let Call::Pending { attempts: 1, due: Some(_), .. } = seen.call else { panic!("{seen:?}") };
    // A request with its key waits as the call does.
    assert!(!world.submit("k", "puppet", "{}").await.expect("known").appended);
}

#[tokio::test]
async fn the_last_attempt_ends_it() {
    let (_, settings) = clocked();
    let puppet = tried_again(&[Act::FailRetryably], retries(Duration::ZERO, HOUR), 3);
    let world = start(&MemoryStore::new(), samples_and([puppet.clone() as _]), settings).await;
    let ended = world.settle("k", "puppet", "{}").await;
    let Call::Failed { error, attempts: 3, .. } = &ended.call else { panic!("{ended:?}") };
    assert_eq!((error.code.as_str(), error.cause.as_deref()), ("retry_exhausted", Some("refused")));
    assert_eq!((error.retryable, puppet.runs()), (false, 3));
}

#[tokio::test]
async fn the_end_of_the_budget_ends_it() {
    let (_, settings) = clocked();
    let busy = Act::NotNow(HOUR);
    let puppet = tried_again(&[busy], retries(Duration::ZERO, HOUR - Duration::from_secs(1)), 20);
    let world = start(&MemoryStore::new(), samples_and([puppet as _]), settings).await;
    let ended = world.settle("k", "puppet", "{}").await;
    let Call::Failed { error, attempts: 1, .. } = &ended.call else { panic!("{ended:?}") };
    assert_eq!((error.code.as_str(), error.cause.as_deref()), ("retry_exhausted", Some("busy")));
}

#[test]
fn a_restart_keeps_the_due_time() {
    let (clock, settings) = clocked();
    let store = MemoryStore::new();
    // Each life has a runtime of its own: when that goes, all of the engine goes where it stands.
    let life =
        || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let waits = life().block_on(async {
        let puppet = tried_again(&[Act::NotNow(HOUR)], retries(Duration::ZERO, 2 * HOUR), 20);
        let world = start(&store, samples_and([puppet as _]), settings.clone()).await;
        let call = world.submit("k", "puppet", "{}").await.expect("accepted").snapshot;
        let waits = put_off(&world, call).await;
        assert_eq!(due_times(&world, &waits).await, [START.plus(HOUR)]);
        waits
    });
    life().block_on(async {
        let puppet = tried_again(&[Act::Succeed], retries(Duration::ZERO, 2 * HOUR), 20);
        let world = start(&store, samples_and([puppet.clone() as _]), settings).await;
        world.settle("another", "puppet", "{}").await;
        assert_eq!(puppet.runs(), 1, "what is not due has not run");
        clock.set(START.plus(HOUR));
        assert!(matches!(world.settled(&waits).await.call, Call::Succeeded { attempts: 2, .. }));
    });
}

/// A thousand calls that fail together do not come back together: no tenth of the time holds more than two tenths of them.
#[tokio::test]
async fn what_failed_together_comes_back_spread_out() {
    const CALLS: usize = 1000;
    let (_, settings) = clocked();
    let mut puppet = tried_again(&[Act::FailRetryably], retries(HOUR, 2 * HOUR), 20);
    let terms = &mut Arc::get_mut(&mut puppet).expect("nobody else has it").terms;
    terms.concurrency = NonZeroUsize::new(CALLS);
    let world = start(&MemoryStore::new(), samples_and([puppet as _]), settings).await;
    let mut tenths = [0; 10];
    for n in 0..CALLS {
        let call = world.submit(&format!("k{n}"), "puppet", "{}").await.expect("accepted").snapshot;
        let due = due_times(&world, &put_off(&world, call).await).await;
        let share = due[0].since(START).as_secs_f64() / HOUR.as_secs_f64();
        tenths[((share * 10.0) as usize).min(9)] += 1;
    }
    assert!(tenths.iter().all(|tenth| (CALLS / 20..CALLS / 5).contains(tenth)), "{tenths:?}");
}

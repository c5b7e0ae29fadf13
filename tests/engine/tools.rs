//! Tools that panic, hang or do not know: the call ends as its policy says, and no worker is lost.

use callonce::domain::call::Call;
use callonce::domain::event::Interruption;
use callonce::engine::Snapshot;
use callonce::engine::tools::Interrupted;
use callonce::store::memory::MemoryStore;

use crate::harness::{Act, Puppet, World, one_worker, samples_and, start};

/// Runs one call of a tool that ends each attempt with `act`, on a single worker, and shows that the worker lives on.
async fn ends(act: Act, interrupted: Interrupted) -> Snapshot {
    let puppet = Puppet::new("puppet", interrupted, &[act]);
    let world: World = start(&MemoryStore::new(), samples_and([puppet as _]), one_worker()).await;
    let ended = world.settle("k", "puppet", "{}").await;
    let next = world.settle("k2", "sleep", "{}").await;
    assert!(matches!(next.call, Call::Succeeded { .. }), "the only worker still works");
    ended
}

#[tokio::test(start_paused = true)]
async fn an_attempt_without_proof_fails_retryably_where_it_may_be_replayed() {
    for (act, code) in [(Act::Panic, "panicked"), (Act::Hang, "timeout"), (Act::NotKnow, "outcome_unknown")] {
        let ended = ends(act, Interrupted::Replay).await;
        let Call::Failed { error, .. } = &ended.call else { panic!("{ended:?}") };
        assert_eq!((error.code.as_str(), error.retryable), (code, true));
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_without_proof_is_held_where_it_may_not() {
    for (act, cause) in [
        (Act::Panic, Interruption::Panicked),
        (Act::Hang, Interruption::TimedOut),
        (Act::NotKnow, Interruption::OutcomeUnknown),
    ] {
        for policy in [Interrupted::Hold, Interrupted::Probe] {
            let ended = ends(act, policy).await;
            let Call::Held { reason, .. } = &ended.call else { panic!("{ended:?}") };
            assert_eq!(*reason, cause);
        }
    }
}

#[tokio::test]
async fn a_call_fails_as_often_as_it_is_told_then_succeeds() {
    let world = start(&MemoryStore::new(), samples_and([]), one_worker()).await;
    let args = r#"{"retryable":true,"times":1}"#;
    let failed = world.settle("k", "fail", args).await;
    assert!(matches!(failed.call, Call::Failed { .. }));
    let done = {
        world.submit("k", "fail", args).await.expect("may retry");
        world.becomes(&failed, callonce::domain::Status::Succeeded).await
    };
    let Call::Succeeded { result, effect, .. } = &done.call else { panic!("{done:?}") };
    assert_eq!((result.as_str(), effect), (r#"{"failed_attempts":1}"#, &None));
}

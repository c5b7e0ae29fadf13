//! One key, one call, whoever asks how often.

use callonce::domain::call::Call;
use callonce::domain::{Refusal, Status};
use callonce::engine::tools::{Interrupted, Registry};
use callonce::engine::{Engine, EngineError, Settings, SettingsError};
use callonce::store::memory::MemoryStore;
use std::sync::Arc;
use std::time::Duration;

use crate::harness::{Act, Puppet, samples_and, start, submission};

#[tokio::test]
async fn a_charge_succeeds_with_one_effect() {
    let store = MemoryStore::new();
    let world = start(&store, Registry::samples(), Settings::default()).await;
    let done = world.settle("k", "charge", r#"{"amount":100}"#).await;
    let Call::Succeeded { request, result, effect, attempts } = &done.call else { panic!("{done:?}") };
    assert_eq!(effect.expect("a charge has an effect").amount, Some(100));
    assert_eq!(result.as_str(), format!(r#"{{"charged":100,"effect_id":"{}"}}"#, request.effect_id()));
    assert_eq!(*attempts, 1);
    assert_eq!(world.events(&done).await, ["created", "claimed", "succeeded"]);
}

#[tokio::test]
async fn the_same_request_leads_to_the_same_call_and_another_one_conflicts() {
    let world = start(&MemoryStore::new(), Registry::samples(), Settings::default()).await;
    let first = world.settle("k", "charge", r#"{"amount":100}"#).await;
    let again = world.submit("k", "charge", r#"{"amount":1e2}"#).await.expect("the same request");
    assert!(!again.appended);
    assert_eq!(again.snapshot, first);

    let other =
        world.submit("k", "charge", r#"{"amount":101,"memo":"x"}"#).await.expect_err("another request");
    let EngineError::Refused(Refusal::IdempotencyConflict { paths }) = other else { panic!("{other:?}") };
    assert_eq!(paths, ["args.amount", "args.memo"]);
    let other = world.submit("k", "sleep", "{}").await.expect_err("another tool");
    let EngineError::Refused(Refusal::IdempotencyConflict { paths }) = other else { panic!("{other:?}") };
    assert_eq!(paths, ["tool", "args.amount"]);
    assert_eq!(world.events(&first).await.len(), 3, "a conflict changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_make_one_call() {
    let world = start(&MemoryStore::new(), Registry::samples(), Settings::default()).await;
    let all = (0..300).map(|_| {
        let engine = world.engine.clone();
        tokio::spawn(async move { engine.submit(submission("k", "charge", r#"{"amount":1}"#)).await })
    });
    let mut created = 0;
    let mut ids = std::collections::HashSet::new();
    for one in all.collect::<Vec<_>>() {
        let submitted = one.await.expect("no panic").expect("accepted");
        created += u32::from(submitted.appended);
        ids.insert(submitted.snapshot.call.request().expect("a call").call_id);
    }
    assert_eq!((created, ids.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_retries_of_a_failed_call_reset_it_once() {
    let flaky = Puppet::new("flaky", Interrupted::Replay, &[Act::FailRetryably, Act::Wait]);
    let world = start(&MemoryStore::new(), samples_and([flaky.clone() as _]), Settings::default()).await;
    let failed = world.settle("k", "flaky", "{}").await;
    assert_eq!(failed.call.status(), Some(Status::Failed));
    let retries = (0..50).map(|_| {
        let engine = world.engine.clone();
        tokio::spawn(async move { engine.submit(submission("k", "flaky", "{}")).await })
    });
    let mut reset = 0;
    for retry in retries.collect::<Vec<_>>() {
        reset += u32::from(retry.await.expect("no panic").expect("accepted").appended);
    }
    flaky.go.add_permits(1);
    let done = world.settled(&failed).await;
    assert_eq!(reset, 1);
    assert_eq!(done.call.attempts(), 2);
    assert_eq!(flaky.runs(), 2);
    let expected = ["created", "claimed", "failed", "retry_reset", "claimed", "succeeded"];
    assert_eq!(world.events(&done).await, expected);
}

#[tokio::test]
async fn a_failure_uses_up_the_attempts() {
    let settings = Settings { max_attempts: 2, ..Settings::default() };
    let world = start(&MemoryStore::new(), Registry::samples(), settings).await;
    let args = r#"{"retryable":true,"message":"no"}"#;
    assert!(!world.settle("k", "fail", args).await.call.is_final());
    world.submit("k", "fail", args).await.expect("may retry");
    let call = world.engine.find(&submission("k", "fail", args).key).await.expect("works").expect("is there");
    let last = world.becomes(&call, Status::Failed).await;
    let Call::Failed { error, attempts: 2, .. } = &last.call else { panic!("{last:?}") };
    assert_eq!((error.code.as_str(), error.cause.as_deref()), ("retry_exhausted", Some("tool_failed")));
    assert!(!error.retryable);
    let again = world.submit("k", "fail", args).await.expect("answered");
    assert!(!again.appended, "no reset of a final failure");
}

#[tokio::test]
async fn a_refused_request_leaves_its_key_free() {
    let world = start(&MemoryStore::new(), Registry::samples(), Settings::default()).await;
    for (tool, args, problem) in [
        ("charge", "{}", "args.amount: expected a whole number from 1 to 9223372036854775807, found nothing"),
        ("charge", r#"{"amount":"100"}"#, "found a string"),
        ("charge", r#"{"amount":1.5}"#, "found 1.5"),
        ("charge", r#"{"amount":0}"#, "found 0"),
        ("charge", r#"{"amount":1e17}"#, "found 100000000000000000"),
        ("charge", r#"{"amount":true}"#, "found a boolean"),
        ("charge", r#"{"amount":9223372036854775808}"#, "found 9223372036854775808"),
        ("sleep", r#"{"seconds":11}"#, "args.seconds: expected a number from 0 to 10, found 11"),
        ("send_email", r#"{"to":[1],"subject":"x"}"#, "args.to: expected a string or a list of strings"),
        ("send_email", r#"{"to":"a"}"#, "args.subject: expected a string, found nothing"),
        ("fail", r#"{"retryable":"yes"}"#, "args.retryable: expected true or false, found a string"),
        ("chagre", "{}", "there is no tool `chagre`; there are charge, fail, send_email, sleep"),
        ("charge", r#"{"amount":1,"_crash_after_commit":true}"#, "only on a server started with --chaos"),
    ] {
        let refusal = world.submit("k", tool, args).await.expect_err(args);
        assert!(matches!(refusal, EngineError::Invalid(_)), "{refusal:?}");
        assert!(refusal.to_string().contains(problem), "{args}: {refusal}");
    }
    let accepted =
        world.submit("k", "charge", r#"{"amount":9223372036854775807}"#).await.expect("the key is free");
    assert!(accepted.appended);
}

#[tokio::test]
async fn a_known_key_is_known_even_if_its_tool_has_gone() {
    let store = MemoryStore::new();
    let gone = Puppet::new("gone", Interrupted::Replay, &[Act::Succeed]);
    let world = start(&store, samples_and([gone as _]), Settings::default()).await;
    let done = world.settle("k", "gone", "{}").await;

    let world = start(&store, Registry::samples(), Settings::default()).await;
    let again = world.submit("k", "gone", "{}").await.expect("known");
    assert_eq!(again.snapshot, done);
    let conflict = world.submit("k", "gone", r#"{"x":1}"#).await.expect_err("another request");
    assert!(matches!(conflict, EngineError::Refused(Refusal::IdempotencyConflict { .. })), "{conflict:?}");
    let unknown = world.submit("k2", "gone", "{}").await.expect_err("a new key needs a tool");
    assert!(matches!(unknown, EngineError::Invalid(_)), "{unknown:?}");
}

#[test]
fn a_lease_must_outlast_every_tool() {
    let mut slow = Puppet::new("slow", Interrupted::Replay, &[Act::Succeed]);
    Arc::get_mut(&mut slow).expect("not shared yet").terms.time_limit = Some(Duration::from_secs(3));
    let settings = Settings {
        lease: Duration::from_secs(1),
        time_limit: Duration::from_millis(500),
        ..Settings::default()
    };
    let refusal = Engine::new(MemoryStore::new(), samples_and([slow as _]), settings, Arc::new(())).err();
    let refusal = refusal.expect("refused");
    assert!(matches!(refusal, SettingsError::LeaseTooShort { .. }));
    assert!(
        refusal.to_string().contains("the lease (1s)") && refusal.to_string().contains("`slow` (3s)"),
        "{refusal}"
    );
}

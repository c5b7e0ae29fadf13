//! What becomes of an append, and of all the others at the same moment.

use super::*;

pub async fn a_new_call_is_found_by_id_and_by_key<S: Store>(store: S) {
    let request =
        request_with(1, "kase-1", "charge", r#"{"a":"\u0001 ü","b":[1,2.5,null]}"#, Some(("me", u64::MAX)));
    let call = does(&store, &Snapshot::absent(), submit(&request)).await;
    assert_eq!(call.version, Version(1));
    assert_eq!(call.updated_at, request.created_at);
    assert_eq!(store.load(request.call_id).await, Ok(Some(call.clone())));
    assert_eq!(store.find(&request.key).await, Ok(Some(call.clone())));
    let history = store.history(request.call_id, Version::NONE, 10).await.unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0].position, Position(1));
    assert_eq!(history[0].entry.event, Event::Created { request });
    assert_eq!(history[0].entry.hash, call.chain);
}

pub async fn a_taken_key_answers_with_its_holder<S: Store>(store: S) {
    let first = created(&store, 1).await;
    let first = does(&store, &first, claim(5, "w")).await;
    let second = request_with(2, "key-1", "charge", r#"{"amount":2}"#, None);
    let events = vec![Event::Created { request: second.clone() }];
    let current = conflict(store.append(&Snapshot::absent(), events).await);
    assert_eq!(current, first);
    assert_eq!(store.load(second.call_id).await, Ok(None), "the loser's call does not exist");
    assert_eq!(log(&store).await.len(), 2);
}

pub async fn the_same_creation_twice_is_one_call<S: Store>(store: S) {
    let first = created(&store, 1).await;
    let again = store.append(&Snapshot::absent(), vec![Event::Created { request: request(1) }]).await;
    assert_eq!(conflict(again), first);
    assert_eq!(log(&store).await.len(), 1);
}

pub async fn an_id_is_never_used_for_two_keys<S: Store>(store: S) {
    let first = created(&store, 1).await;
    let second = request_with(1, "another-key", "charge", "{}", None);
    corrupt(store.append(&Snapshot::absent(), vec![Event::Created { request: second.clone() }]).await);
    assert_eq!(store.find(&second.key).await, Ok(None));
    assert_eq!(loaded(&store, &first).await, first);
    assert_eq!(log(&store).await.len(), 1);
}

pub async fn of_two_appends_at_one_version_one_wins<S: Store>(store: S) {
    let call = created(&store, 1).await;
    let one = store.append(&call, decided(&call.call, claim(2, "one")));
    let two = store.append(&call, decided(&call.call, claim(2, "two")));
    let (one, two) = tokio::join!(one, two);
    let (won, lost) = match one {
        Ok(won) => (won, two),
        Err(_) => (two.expect("one of them wins"), one),
    };
    assert_eq!(won.version, Version(2));
    assert_eq!(conflict(lost), won);
    assert_eq!(loaded(&store, &call).await, won);
    assert_eq!(store.stats(at(3)).await.unwrap().attempts, BTreeMap::from([(1, 1)]));
}

pub async fn many_at_once_with_one_key_are_one_call<S: Store>(store: S) {
    let store = std::sync::Arc::new(store);
    let tasks: Vec<_> = (1..=24)
        .map(|n| {
            let store = store.clone();
            let request = request_with(n, "one-key", "charge", r#"{"amount":1}"#, None);
            tokio::spawn(
                async move { store.append(&Snapshot::absent(), vec![Event::Created { request }]).await },
            )
        })
        .collect();
    let mut holders = Vec::new();
    let mut winners = 0;
    for task in tasks {
        match task.await.expect("no task panics") {
            Ok(won) => {
                winners += 1;
                holders.push(won);
            }
            lost => holders.push(conflict(lost)),
        }
    }
    assert_eq!(winners, 1);
    assert!(holders.iter().all(|holder| *holder == holders[0]), "all are told of one call");
    assert_eq!(store.stats(at(0)).await.unwrap().calls, 1);
}

pub async fn an_old_snapshot_changes_nothing<S: Store>(store: S) {
    let old = created(&store, 1).await;
    let now = does(&store, &old, claim(2, "w")).await;
    let now = does(&store, &now, succeed(3, 1)).await;
    assert_eq!(conflict(store.append(&old, decided(&old.call, claim(4, "late"))).await), now);
    assert_eq!(loaded(&store, &old).await, now);
    assert_eq!(log(&store).await.len(), 3);
}

pub async fn a_snapshot_from_another_log_is_corrupt<S: Store>(store: S) {
    let ours = created(&store, 1).await;
    let elsewhere = MemoryStore::new();
    let theirs =
        does(&elsewhere, &Snapshot::absent(), submit(&request_with(1, "key-1", "charge", "{}", None))).await;
    corrupt(store.append(&theirs, decided(&theirs.call, claim(2, "w"))).await);
    let gone = created(&elsewhere, 2).await;
    corrupt(store.append(&gone, decided(&gone.call, claim(2, "w"))).await);
    assert_eq!(loaded(&store, &ours).await, ours);
    assert_eq!(log(&store).await.len(), 1);
}

pub async fn an_illegal_event_is_refused_whole<S: Store>(store: S) {
    let call = created(&store, 1).await;
    let mut events = decided(&call.call, claim(2, "w"));
    events.push(events[0].clone());
    let problem = corrupt(store.append(&call, events).await);
    assert!(problem.contains("claimed") && problem.contains("running"), "{problem}");
    assert_eq!(loaded(&store, &call).await, call);
    assert_eq!(log(&store).await.len(), 1);
}

pub async fn several_events_are_appended_together<S: Store>(store: S) {
    let mut events = vec![Event::Created { request: request(1) }];
    let (call, _) = Snapshot::absent().apply(events[0].clone()).unwrap();
    events.extend(decided(&call.call, claim(2, "w")));
    let (call, _) = call.apply(events[1].clone()).unwrap();
    events.extend(decided(&call.call, succeed(3, 1)));
    let after = store.append(&Snapshot::absent(), events.clone()).await.unwrap();
    assert_eq!(after.version, Version(3));
    assert_eq!(loaded(&store, &after).await, after);
    let history = store.history(id(&after), Version::NONE, 10).await.unwrap();
    assert_eq!(history.into_iter().map(|event| event.entry.event).collect::<Vec<_>>(), events);
    let stats = store.stats(at(4)).await.unwrap();
    assert_eq!((stats.calls, stats.effects, stats.position), (1, 1, Some(Position(3))));
}

pub async fn nothing_to_append_changes_nothing<S: Store>(store: S) {
    assert_eq!(store.append(&Snapshot::absent(), vec![]).await.unwrap(), Snapshot::absent());
    let call = created(&store, 1).await;
    assert_eq!(store.append(&call, vec![]).await.unwrap(), call);
    assert_eq!(log(&store).await.len(), 1);
}

/// The fence is the attempt's number and the version, not the worker's name, which comes back.
pub async fn the_late_report_of_the_same_worker_changes_nothing<S: Store>(store: S) {
    let call = created(&store, 1).await;
    let first = does(&store, &call, claim(2, "same")).await;
    let requeued = does(&store, &first, recover(40, 1, Interrupted::Replay)).await;
    let second = does(&store, &requeued, claim(41, "same")).await;
    for late in [succeed(42, 1), fail(42, 1, false)] {
        let report = decided(&first.call, late);
        assert_eq!(conflict(store.append(&first, report).await), second);
    }
    assert_eq!(loaded(&store, &call).await, second);
}

pub async fn a_late_failure_does_not_touch_a_success<S: Store>(store: S) {
    let call = created(&store, 1).await;
    let first = does(&store, &call, claim(2, "same")).await;
    let requeued = does(&store, &first, recover(40, 1, Interrupted::Replay)).await;
    let second = does(&store, &requeued, claim(41, "same")).await;
    let done = does(&store, &second, succeed(42, 2)).await;
    for old in [&first, &requeued] {
        let late = decided(&old.call, fail(43, 1, true));
        assert_eq!(conflict(store.append(old, late).await), done);
    }
    assert_eq!(loaded(&store, &call).await, done);
    assert_eq!(store.stats(at(50)).await.unwrap().effects, 1);
}

/// Recovery reads a call whose lease is over; before it appends, the worker reports after all.
pub async fn a_recovery_that_lost_the_race_changes_nothing<S: Store>(store: S) {
    let call = created(&store, 1).await;
    let running = does(&store, &call, claim(2, "slow")).await;
    let over = store.expired(at(2 + LEASE_SECONDS), 10).await.unwrap();
    assert_eq!(over, std::slice::from_ref(&running));
    let done = does(&store, &running, succeed(33, 1)).await;
    let late = decided(&over[0].call, recover(34, 1, Interrupted::Replay));
    assert_eq!(conflict(store.append(&over[0], late).await), done);
    let events = log(&store).await;
    assert!(events.iter().all(|event| event.entry.event.name() != "recover"));
    assert_eq!(store.stats(at(50)).await.unwrap().effects, 1);
}

pub async fn the_last_attempt_that_is_given_up_fails<S: Store>(store: S) {
    let mut call = created(&store, 1).await;
    for attempt in 1..=MAX_ATTEMPTS {
        call = does(&store, &call, claim(i64::from(attempt) * 10, "w")).await;
        call = does(&store, &call, recover(i64::from(attempt) * 10 + 5, attempt, Interrupted::Replay)).await;
    }
    assert!(call.call.is_final(), "{:?}", call.call);
    assert_eq!(loaded(&store, &call).await, call);
    assert_eq!(store.expired(at(10_000), 10).await, Ok(vec![]));
    assert_eq!(
        store
            .due(&ToolName::parse("charge").unwrap(), at(10_000), DueCursor::default(), 10)
            .await
            .unwrap()
            .calls,
        []
    );
}

pub async fn a_closed_store_is_unavailable<S: Store>(store: S) {
    let call = created(&store, 1).await;
    store.close().await;
    let unavailable = |error: StoreError| assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    match store.append(&call, decided(&call.call, claim(2, "w"))).await {
        Err(AppendError::Store(error)) => unavailable(error),
        other => panic!("{other:?}"),
    }
    unavailable(store.load(id(&call)).await.unwrap_err());
    unavailable(store.stats(at(0)).await.unwrap_err());
    store.close().await;
}

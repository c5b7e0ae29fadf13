//! What is read, in which order, and in which pages.

use super::*;

pub async fn what_is_absent_is_nothing<S: Store>(store: S) {
    created(&store, 1).await;
    let absent = request(2);
    assert_eq!(store.load(absent.call_id).await, Ok(None));
    assert_eq!(store.find(&absent.key).await, Ok(None));
    assert_eq!(store.history(absent.call_id, Version::NONE, 10).await, Ok(vec![]));
    assert_eq!(store.history(absent.call_id, Version(7), 10).await, Ok(vec![]));
    assert_eq!(store.list(&Filter::default(), Some(absent.call_id), 10).await, Ok(vec![]));
    assert_eq!(store.scan(Position(1), 10).await, Ok(vec![]));
}

pub async fn a_history_is_read_in_pages<S: Store>(store: S) {
    let call = created(&store, 1).await;
    created(&store, 2).await;
    let call = does(&store, &call, claim(2, "w")).await;
    let call = does(&store, &call, fail(3, 1, true)).await;
    let call = store.append(&call, vec![retry_at(4, 9)]).await.unwrap();
    let page = async |after: u64, limit| {
        let events = store.history(id(&call), Version(after), limit).await.unwrap();
        events.into_iter().map(|event| (event.position.0, event.entry.version.0)).collect::<Vec<_>>()
    };
    assert_eq!(page(0, 2).await, [(1, 1), (3, 2)]);
    assert_eq!(page(2, 2).await, [(4, 3), (5, 4)]);
    assert_eq!(page(4, 2).await, []);
    assert_eq!(page(9, 2).await, []);
    assert_eq!(page(0, 0).await, []);
}

pub async fn the_log_is_read_in_pages<S: Store>(store: S) {
    for n in 1..=5 {
        created(&store, n).await;
    }
    let page = async |after: u64, limit| {
        let events = store.scan(Position(after), limit).await.unwrap();
        events.into_iter().map(|event| event.position.0).collect::<Vec<_>>()
    };
    assert_eq!(page(0, 2).await, [1, 2]);
    assert_eq!(page(2, 2).await, [3, 4]);
    assert_eq!(page(4, 2).await, [5]);
    assert_eq!(page(5, 2).await, [0; 0]);
}

pub async fn a_list_is_newest_first_and_filtered<S: Store>(store: S) {
    // Ids that do not follow the order of arrival: a clock may jump.
    for (n, tool, client) in
        [(5, "charge", "a"), (3, "sleep", "a"), (4, "charge", "b"), (1, "sleep", "b"), (2, "charge", "a")]
    {
        let request = request_with(n, &format!("key-{n}"), tool, "{}", Some((client, n)));
        does(&store, &Snapshot::absent(), submit(&request)).await;
    }
    let call = async |n| store.load(request(n).call_id).await.unwrap().unwrap();
    let running = does(&store, &call(5).await, claim(10, "w")).await;
    let held = does(&store, &call(3).await, claim(10, "w")).await;
    does(&store, &held, recover(11, 1, Interrupted::Hold)).await;
    let failed = does(&store, &call(4).await, claim(10, "w")).await;
    does(&store, &failed, fail(12, 1, true)).await;
    let done = does(&store, &call(1).await, claim(10, "w")).await;
    does(&store, &done, succeed(12, 1)).await;
    drop(running);

    let list = async |filter: Filter, before: Option<u64>, limit| {
        let before = before.map(|n| request(n).call_id);
        let calls = store.list(&filter, before, limit).await.unwrap();
        calls.iter().map(|call| call.call.request().unwrap().created_at).map(number).collect::<Vec<_>>()
    };
    let all = Filter::default;
    assert_eq!(list(all(), None, 10).await, [2, 1, 4, 3, 5]);
    assert_eq!(list(all(), None, 2).await, [2, 1]);
    assert_eq!(list(all(), Some(1), 2).await, [4, 3]);
    assert_eq!(list(all(), Some(3), 2).await, [5]);
    assert_eq!(list(all(), Some(5), 2).await, [0; 0]);
    assert_eq!(list(all(), None, 0).await, [0; 0]);
    let status = |status| Filter { status: Some(status), ..all() };
    assert_eq!(list(status(Status::Pending), None, 10).await, [2]);
    assert_eq!(list(status(Status::Running), None, 10).await, [3, 5]);
    assert_eq!(list(status(Status::Succeeded), None, 10).await, [1]);
    assert_eq!(list(status(Status::Failed), None, 10).await, [4]);
    let held = |held, status| Filter { held: Some(held), status, ..all() };
    assert_eq!(list(held(true, None), None, 10).await, [3]);
    assert_eq!(list(held(true, Some(Status::Running)), None, 10).await, [3]);
    assert_eq!(list(held(true, Some(Status::Failed)), None, 10).await, [0; 0]);
    assert_eq!(list(held(false, None), None, 10).await, [2, 1, 4, 5]);
    assert_eq!(list(held(false, Some(Status::Running)), None, 10).await, [5]);
    let tool = |name| Filter { tool: Some(ToolName::parse(name).unwrap()), ..all() };
    assert_eq!(list(tool("charge"), None, 10).await, [2, 4, 5]);
    assert_eq!(list(tool("charge"), Some(4), 10).await, [5]);
    assert_eq!(list(tool("sleep"), None, 1).await, [1]);
    let client = |name| Filter { client_id: Some(ClientId::parse(name).unwrap()), ..all() };
    assert_eq!(list(client("a"), None, 10).await, [2, 3, 5]);
    assert_eq!(list(client("nobody"), None, 10).await, [0; 0]);
    let both = Filter {
        tool: Some(ToolName::parse("sleep").unwrap()),
        status: Some(Status::Running),
        ..client("a")
    };
    assert_eq!(list(both, None, 10).await, [3]);
}

fn charge() -> ToolName {
    ToolName::parse("charge").expect("it is valid")
}

/// The number of the request that was created at this instant.
fn number(created_at: Timestamp) -> i64 {
    (created_at.as_micros() - at(0).as_micros()) / 1_000_000
}

pub async fn due_calls_come_oldest_first_and_not_before_their_time<S: Store>(store: S) {
    let first = created(&store, 9).await;
    let second = created(&store, 8).await;
    let third = created(&store, 10).await;
    // The first fails and is to run again, not before second 60.
    let failed = does(&store, &does(&store, &first, claim(20, "w")).await, fail(21, 1, true)).await;
    let first = store.append(&failed, vec![retry_at(22, 60)]).await.unwrap();
    let due =
        async |seconds| store.due(&charge(), at(seconds), DueCursor::default(), 10).await.unwrap().calls;
    assert_eq!(due(59).await, [second.clone(), third.clone()]);
    assert_eq!(due(60).await, [first.clone(), second.clone(), third.clone()]);
    let waiting = Filter { status: Some(Status::Pending), ..Filter::default() };
    assert_eq!(store.list(&waiting, None, 10).await.unwrap(), [third, second.clone(), first.clone()]);
    let running = does(&store, &first, claim(61, "w")).await;
    does(&store, &second, claim(61, "w")).await;
    assert_eq!(due(70).await.len(), 1);
    // Recovered and held calls: the one waits again, the other does not.
    does(&store, &running, recover(80, 2, Interrupted::Replay)).await;
    assert_eq!(due(80).await.len(), 2);
    assert_eq!(store.stats(at(80)).await.unwrap().oldest_pending, Some(at(9)));
}

pub async fn due_pages_follow_each_other<S: Store>(store: S) {
    for n in 1..=7 {
        created(&store, n).await;
    }
    let mut seen = Vec::new();
    let mut cursor = Some(DueCursor::default());
    let mut pages = 0;
    while let Some(from) = cursor {
        let page = store.due(&charge(), at(100), from, 3).await.unwrap();
        // What happens to the calls of one page does not disturb the next.
        for call in page.calls {
            seen.push(key(&call).to_string());
            does(&store, &call, claim(101, "w")).await;
        }
        (cursor, pages) = (page.next, pages + 1);
    }
    assert_eq!(seen, (1..=7).map(|n| format!("key-{n}")).collect::<Vec<_>>());
    assert_eq!(pages, 3);
    let other = ToolName::parse("other").unwrap();
    let others = store.due(&other, at(100), DueCursor::default(), 3).await.unwrap();
    assert!(others.calls.is_empty() && others.next.is_none(), "calls of another tool are not in the way");
    let none = store.due(&charge(), at(100), DueCursor::default(), 3).await.unwrap();
    assert!(none.calls.is_empty() && none.next.is_none());
}

pub async fn expired_leases_are_found_and_held_calls_are_not<S: Store>(store: S) {
    let late = does(&store, &created(&store, 1).await, claim(20, "w")).await;
    let early = does(&store, &created(&store, 2).await, claim(10, "w")).await;
    let held = does(&store, &created(&store, 3).await, claim(10, "w")).await;
    let held = does(&store, &held, recover(11, 1, Interrupted::Hold)).await;
    created(&store, 4).await;
    let expired = async |seconds, limit| store.expired(at(seconds), limit).await.unwrap();
    assert_eq!(expired(9 + LEASE_SECONDS, 10).await, []);
    assert_eq!(expired(10 + LEASE_SECONDS, 10).await, std::slice::from_ref(&early));
    assert_eq!(expired(1000, 10).await, [early.clone(), late]);
    assert_eq!(expired(1000, 1).await, [early]);
    assert_eq!(store.stats(at(1000)).await.unwrap().lease_over, 2);
    assert_eq!(store.stats(at(1000)).await.unwrap().held, 1);
    does(&store, &held, not_happened(50)).await;
    assert_eq!(store.stats(at(1000)).await.unwrap().held, 0);
}

pub async fn stats_of_an_empty_store_are_nothing<S: Store>(store: S) {
    let stats = store.stats(at(0)).await.unwrap();
    assert_eq!(Stats { wal_bytes: 0, ..stats }, Stats::default());
}

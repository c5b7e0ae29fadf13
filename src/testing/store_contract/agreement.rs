//! Whatever happens, a store reads as the reference does.

use super::*;

/// A long random life of many calls, told to this store and to the reference: every read agrees, all along.
pub async fn any_history_reads_as_in_the_reference<S: Store>(store: S) {
    let reference = MemoryStore::new();
    let mut chance = Chance::new(20_261_201);
    let mut known: Vec<Snapshot> = Vec::new();
    for step in 1..=600 {
        let fresh = known.is_empty() || chance.below(4) == 0;
        let (before, events) = if fresh {
            let n = known.len() as u64 + 1;
            let client = (chance.below(2) == 0).then(|| (chance.pick(&["a", "b"]), n));
            let tool = chance.pick(&["charge", "sleep"]);
            let request = request_with(n, &format!("key-{n}"), tool, &format!(r#"{{"n":{n}}}"#), client);
            (Snapshot::absent(), vec![Event::Created { request }])
        } else {
            let call = chance.below(known.len() as u64);
            let before = known[usize::try_from(call).expect("it is an index")].clone();
            let events = happening(&mut chance, &before.call, step);
            (before, events)
        };
        let (ours, theirs) =
            tokio::join!(store.append(&before, events.clone()), reference.append(&before, events));
        let (ours, theirs) = (ours.expect("it is legal"), theirs.expect("it is legal"));
        assert_eq!(ours, theirs, "step {step}");
        match known.iter_mut().find(|snapshot| before.call != Call::Absent && id(snapshot) == id(&before)) {
            Some(snapshot) => *snapshot = ours,
            None => known.push(ours),
        }
        if step % 40 == 0 {
            agree(&store, &reference, &known, step).await;
        }
    }
    assert_eq!(log(&store).await, log(&reference).await);
}

async fn agree<S: Store>(store: &S, reference: &MemoryStore, known: &[Snapshot], now: i64) {
    for snapshot in known {
        assert_eq!(store.load(id(snapshot)).await, Ok(Some(snapshot.clone())));
        assert_eq!(store.find(&key(snapshot)).await, Ok(Some(snapshot.clone())));
        let history = (
            store.history(id(snapshot), Version(1), 3).await,
            reference.history(id(snapshot), Version(1), 3).await,
        );
        assert_eq!(history.0, history.1);
    }
    let stats = store.stats(at(now)).await.unwrap();
    assert_eq!(Ok(Stats { wal_bytes: 0, ..stats }), reference.stats(at(now)).await);
    assert_eq!(store.expired(at(now), 7).await, reference.expired(at(now), 7).await);
    for tool in ["charge", "sleep"].map(|name| ToolName::parse(name).expect("it is valid")) {
        let due = store.due(&tool, at(now), DueCursor::default(), 7).await.unwrap().calls;
        assert_eq!(due, reference.due(&tool, at(now), DueCursor::default(), 7).await.unwrap().calls);
    }
    let statuses = Status::ALL.into_iter().map(Some).chain([None]);
    for status in statuses {
        for held in [None, Some(true), Some(false)] {
            for client_id in [None, Some(ClientId::parse("a").expect("it is valid"))] {
                for tool in [None, Some(ToolName::parse("sleep").expect("it is valid"))] {
                    let filter = Filter { status, held, client_id: client_id.clone(), tool };
                    let before = known.get(known.len() / 2).map(id);
                    for (before, limit) in [(None, 5), (before, 5), (None, usize::MAX)] {
                        let ours = store.list(&filter, before, limit).await;
                        assert_eq!(ours, reference.list(&filter, before, limit).await, "{filter:?}");
                    }
                }
            }
        }
    }
}

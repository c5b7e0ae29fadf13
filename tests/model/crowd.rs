//! Is what a crowd of clients lives through a life of calls that happen once?

use callonce::domain::{Call, Event};
use callonce::store::Store;
use callonce::store::memory::MemoryStore;

use crate::clients::{Story, story, told};
use crate::disk::Disk;
use crate::history::{Told, faults};
use crate::run::{say, seed};

/// How many crowds there are over each store.
const CROWDS: u64 = 4;

#[test]
fn a_crowd_over_the_store_in_memory_sees_each_call_once() {
    let stores = (0..CROWDS).map(|_| MemoryStore::new());
    crowds("in memory", stores.map(|store| (move || store.clone(), || {})));
}

#[test]
fn a_crowd_over_the_store_on_disk_sees_each_call_once() {
    let disks: Vec<_> = (0..CROWDS).map(|_| Disk::new()).collect();
    crowds("on SQLite", disks.iter().map(|disk| (|| disk.open(), || drop(disk.check_as_it_is()))));
}

/// One story over each store; after it, the store is closed and `look` looks at what is left.
fn crowds<S: Store>(place: &str, stores: impl Iterator<Item = (impl FnMut() -> S, impl Fn())>) {
    let (mut answered, mut unanswered, mut conflicts, mut recovered, mut retried) = (0, 0, 0, 0, 0);
    for (number, (open, look)) in stores.enumerate() {
        let seed = seed() + 1_000 * number as u64;
        let story = story(seed, open);
        check(&story, seed);
        look();
        let told = story.deeds.iter().filter_map(|deed| deed.answered.as_ref());
        answered += told.clone().count();
        unanswered += story.deeds.iter().filter(|deed| deed.answered.is_none()).count();
        conflicts += told.filter(|(_, told)| *told == Told::Conflict).count();
        let events = || story.ends.iter().flat_map(|(_, _, events)| events);
        recovered += events().filter(|event| matches!(event, Event::Recover { .. })).count();
        retried += events().filter(|event| matches!(event, Event::RetryReset { .. })).count();
    }
    let line = format!(
        "model: {CROWDS} crowds {place}, {answered} answers ({conflicts} conflicts), {unanswered} cut off, \
         {recovered} attempts given up, {retried} retries\n"
    );
    say(&line);
    assert!(answered > 4_000 && conflicts > 100 && retried > 0, "the crowds were idle: {line}");
}

fn check(story: &Story, seed: u64) {
    assert_eq!(faults(&story.deeds), Vec::<String>::new(), "seed {seed}");
    let mut effects = 0;
    for (key, end, events) in &story.ends {
        let recorded =
            events.iter().filter(|event| matches!(event, Event::Succeeded { effect: Some(_), .. }));
        let recorded = recorded.count() as u64;
        assert_eq!(
            recorded,
            u64::from(end.call.status() == Some(callonce::domain::Status::Succeeded)),
            "{key}"
        );
        effects += recorded;
        assert!(
            matches!(end.call, Call::Succeeded { .. } | Call::Failed { .. } | Call::Held { .. }),
            "seed {seed}: key {key} never ended: {end:?}"
        );
        // What clients were told last is what is stored, or what it was before.
        let Told::Call(end) = told(end) else { panic!("a call is shown as a call") };
        for deed in story.deeds.iter().filter(|deed| deed.key == *key) {
            if let Some((_, Told::Call(seen))) = &deed.answered {
                assert_eq!(seen.call_id, end.call_id, "seed {seed}: key {key}");
                let kept = seen.version < end.version || seen.said == end.said;
                assert!(
                    kept && (seen.said.state != "final" || *seen == end),
                    "seed {seed}: {seen:?}, {end:?}"
                );
            }
        }
    }
    assert_eq!((story.stats.effects, story.stats.calls), (effects, story.ends.len() as u64), "seed {seed}");
}

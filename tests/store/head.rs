//! Does the store notice that its database has lost what was acknowledged?

use std::fs;

use callonce::store::Store;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::{DataLoss, OpenError, Options};
use callonce::testing::random_calls::{request_with, submit};

use crate::child::{Child, KILLED};
use crate::support::{Place, created, does, loaded, log};

/// Bytes of each of the two slots.
const SLOT: usize = 4096;

fn loss(place: &Place) -> DataLoss {
    match place.refusal() {
        OpenError::DataLoss { path, loss } => {
            assert!(path.ends_with("calls.db"));
            loss
        }
        other => panic!("{other:?}"),
    }
}

/// A closed database with so many events, and a copy of it as it was after two.
async fn with_an_old_copy(events: u64) -> (Place, Vec<u8>) {
    let place = Place::new();
    let mut store = place.open();
    let mut old = vec![];
    for n in 1..=events {
        if n == 3 {
            drop(store);
            old = fs::read(place.database()).unwrap();
            store = place.open();
        }
        created(&store, n).await;
    }
    store.close().await;
    (place, old)
}

#[tokio::test]
async fn an_old_copy_that_is_put_back_is_refused_until_the_loss_is_accepted() {
    let (place, old) = with_an_old_copy(5).await;
    fs::write(place.database(), old).unwrap();
    assert_eq!(loss(&place), DataLoss::Behind { has: 2, head: 5 });
    let said = place.refusal().to_string();
    assert!(said.contains("position 2") && said.contains("3 events are missing"), "{said}");
    let accepting = Options { accept_data_loss: true, ..Options::default() };
    let store = place.open_with(accepting).unwrap();
    assert_eq!(store.accepted_loss(), Some(&DataLoss::Behind { has: 2, head: 5 }));
    created(&store, 6).await;
    store.close().await;
    drop(store);
    let store = place.open();
    assert_eq!(store.accepted_loss(), None, "it is accepted once");
    assert_eq!(log(&store).await.len(), 3);
}

#[tokio::test]
async fn a_database_with_another_history_is_refused() {
    let (place, _) = with_an_old_copy(4).await;
    let other = Place::new();
    let store = other.open();
    for n in 1..=9 {
        let request = request_with(n, &format!("other-{n}"), "sleep", "{}", None);
        does(&store, &Snapshot::absent(), submit(&request)).await;
    }
    store.close().await;
    fs::copy(other.database(), place.database()).unwrap();
    assert_eq!(loss(&place), DataLoss::Differs { head: 4 });
}

#[tokio::test]
async fn a_database_that_is_gone_is_not_a_new_one() {
    let (place, _) = with_an_old_copy(4).await;
    fs::remove_file(place.database()).unwrap();
    assert_eq!(loss(&place), DataLoss::Behind { has: 0, head: 4 });
}

#[tokio::test]
async fn events_without_a_head_are_refused() {
    let (place, _) = with_an_old_copy(4).await;
    let head = fs::read(place.beside("-head")).unwrap();
    fs::remove_file(place.beside("-head")).unwrap();
    assert_eq!(loss(&place), DataLoss::NoHead { has: 4, problem: "is missing".into() });
    for damaged in [vec![], vec![0; 2 * SLOT], head[..100].to_vec(), head.to_ascii_uppercase()] {
        fs::write(place.beside("-head"), damaged).unwrap();
        assert_eq!(loss(&place), DataLoss::NoHead { has: 4, problem: "is damaged".into() });
    }
    fs::write(place.beside("-head"), head).unwrap();
    assert!(loaded(&place.open(), 4).await.is_some());
}

/// A copy of the database file of a server that had not written its first checkpoint, for instance.
#[tokio::test]
async fn a_database_without_a_head_is_not_a_new_one_however_empty_it_is() {
    let place = Place::new();
    place.open().close().await;
    let head = fs::read(place.beside("-head")).unwrap();
    for damage in ["is missing", "is damaged"] {
        match damage {
            "is missing" => fs::remove_file(place.beside("-head")).unwrap(),
            _ => fs::write(place.beside("-head"), "").unwrap(),
        }
        assert_eq!(loss(&place), DataLoss::NoHead { has: 0, problem: damage.into() });
    }
    let accepting = Options { accept_data_loss: true, ..Options::default() };
    created(&place.open_with(accepting).unwrap(), 1).await;

    // A first start that was killed right after it had made the head goes on.
    let killed = Place::new();
    fs::write(killed.beside("-head"), head).unwrap();
    created(&killed.open(), 1).await;
}

/// A write of the head that was cut short leaves the other slot, which is older by less than a second.
#[tokio::test]
async fn one_slot_is_enough() {
    for torn in [0, 1] {
        let (place, old) = with_an_old_copy(4).await;
        let mut head = fs::read(place.beside("-head")).unwrap();
        assert_eq!(head.len(), 2 * SLOT);
        head[torn * SLOT + 20..(torn + 1) * SLOT].fill(0);
        fs::write(place.beside("-head"), &head).unwrap();
        assert!(loaded(&place.open(), 4).await.is_some(), "slot {torn} is torn");
        fs::write(place.beside("-head"), &head).unwrap();
        fs::write(place.database(), old).unwrap();
        assert!(matches!(loss(&place), DataLoss::Behind { has: 2, .. }), "slot {torn} is torn");
    }
}

#[tokio::test]
async fn a_head_is_there_before_the_first_event_and_grows_with_the_log() {
    let place = Place::new();
    let store = place.open();
    let head = || fs::read_to_string(place.beside("-head")).unwrap();
    assert!(head().starts_with("callonce head 1\nposition 0\n"), "{}", head());
    created(&store, 1).await;
    let call = created(&store, 2).await;
    // By itself, without a close.
    while !head().contains("position 2\n") {
        tokio::task::yield_now().await;
    }
    assert!(head().contains(&call.chain.to_string()));
}

/// A crash leaves a WAL; somebody tidies it away. SQLite would call the rest a sound database.
#[tokio::test]
async fn a_wal_that_was_deleted_after_a_crash_is_missed() {
    let place = Place::new();
    assert_eq!(Child::dies_when_its_head_is_written(&place.database()).let_go(), KILLED);
    assert!(fs::metadata(place.beside("-wal")).unwrap().len() > 0);
    fs::remove_file(place.beside("-wal")).unwrap();
    fs::remove_file(place.beside("-shm")).unwrap();
    assert_eq!(loss(&place), DataLoss::Behind { has: 0, head: 22 });
}

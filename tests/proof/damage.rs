//! Bytes of the file that changed, and files that are not where they should be.

use std::str::FromStr;

use callonce::domain::call::Call;
use callonce::domain::id::{CallId, IdemKey, Version};
use callonce::domain::law::Law;
use callonce::domain::time::Timestamp;
use callonce::store::record::Snapshot;
use callonce::store::sqlite::SqliteReader;
use callonce::store::sqlite::verify::{self, VerifyError};
use callonce::store::{AppendError, Store as _, StoreError};
use callonce::testing::many_calls;
use callonce::testing::random_calls::{Chance, decided, request, submit};

use crate::place::{PENDING, Place, REQUEUED, RUNNING, SECOND_TRY, WITHOUT_EFFECT, does, dump, id};

/// The bytes of the page at which a table or an index begins.
fn page_of(place: &Place, name: &str) -> std::ops::Range<usize> {
    let (root, size): (usize, usize) = place.meddle(|db| {
        let root: i64 =
            db.query_row("SELECT rootpage FROM sqlite_master WHERE name = ?1", [name], |row| row.get(0))?;
        let size: i64 = db.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok((usize::try_from(root).unwrap(), usize::try_from(size).unwrap()))
    });
    (root - 1) * size..root * size
}

fn damage(place: &Place, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(place.database()).unwrap();
    change(&mut bytes);
    std::fs::write(place.database(), bytes).unwrap();
}

/// Writes over `old`, the first that is there, in the page at which `index` begins.
fn write_over(place: &Place, index: &str, old: &str, new: &str) {
    let page = page_of(place, index);
    damage(place, |bytes| {
        let found = bytes[page.clone()].windows(old.len()).position(|window| window == old.as_bytes());
        let at = page.start + found.expect("a small index is one page");
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    });
}

/// The key's call is there and right, but a request with this key would not find it, and would be taken for a new one.
#[tokio::test]
async fn a_key_that_no_longer_leads_to_its_call_is_told() {
    let place = Place::with_every_state().await;
    write_over(&place, "sqlite_autoindex_calls_2", &format!("key-{SECOND_TRY}"), "key-z");
    let findings = place.findings();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!((findings[0].law, findings[0].call.clone()), (Law::OneCallPerKey, Some(id(SECOND_TRY))));
    assert_eq!(findings[0].member, "calls.idem_key");
}

/// The index of the log leads to the row of another call.
#[tokio::test]
async fn an_index_that_leads_to_another_call_is_told() {
    let place = Place::with_every_state().await;
    let last = id(WITHOUT_EFFECT);
    write_over(&place, "sqlite_autoindex_audit_1", &last, &last.replace('a', "f"));
    let findings = place.findings();
    assert!(findings.iter().any(|told| told.member == "audit.call_id"), "{findings:#?}");
    assert!(findings.iter().any(|told| told.call.as_ref() == Some(&last)), "{findings:#?}");
    // What is left of the call's events is no history of it, from wherever it is read.
    let reader = SqliteReader::open(&place.database()).unwrap();
    for after in 0..2 {
        let history = reader.history(CallId::from_str(&last).unwrap(), Version(after), 100).await;
        assert!(matches!(history, Err(StoreError::Corrupt(_))), "after {after}: {history:?}");
    }
    let untouched = reader.history(CallId::from_str(&id(SECOND_TRY)).unwrap(), Version::NONE, 100).await;
    assert!(untouched.is_ok_and(|events| events.len() > 3));
}

/// The row that an index leads to is whole, and of another call: it is nobody's answer, neither to a look nor to a request.
#[tokio::test]
async fn a_key_that_leads_to_another_call_is_refused() {
    let place = Place::with_every_state().await;
    let entry = |row: u64| format!("key-{SECOND_TRY}{}", char::from(u8::try_from(row).unwrap()));
    write_over(&place, "sqlite_autoindex_calls_2", &entry(SECOND_TRY), &entry(REQUEUED));
    let key = IdemKey::parse(&format!("key-{SECOND_TRY}")).unwrap();
    let reader = SqliteReader::open(&place.database()).unwrap();
    let found = reader.find(&key).await;
    assert!(matches!(found, Err(StoreError::Corrupt(_))), "{found:?}");
    drop(reader);
    let store = place.open();
    let events = decided(&Call::Absent, submit(&request(SECOND_TRY)));
    let appended = store.append(&Snapshot::absent(), events).await;
    assert!(matches!(appended, Err(AppendError::Store(StoreError::Corrupt(_)))), "{appended:?}");
    store.close().await;
    assert!(place.findings().iter().any(|told| told.law == Law::OneCallPerKey), "{:#?}", place.findings());
}

/// The same of an id.
#[tokio::test]
async fn an_id_that_leads_to_another_call_is_refused() {
    let place = Place::with_every_state().await;
    let last = id(SECOND_TRY);
    let entry = |row: u64| format!("{last}{}", char::from(u8::try_from(row).unwrap()));
    write_over(&place, "sqlite_autoindex_calls_1", &entry(SECOND_TRY), &entry(REQUEUED));
    let reader = SqliteReader::open(&place.database()).unwrap();
    let loaded = reader.load(CallId::from_str(&last).unwrap()).await;
    assert!(matches!(loaded, Err(StoreError::Corrupt(_))), "{loaded:?}");
}

/// Entries that go back lead nobody in a circle.
#[tokio::test]
async fn an_index_that_is_not_in_order_is_told() {
    for (index, old, new) in [
        ("sqlite_autoindex_audit_1", id(WITHOUT_EFFECT), id(PENDING)),
        ("sqlite_autoindex_calls_1", id(WITHOUT_EFFECT), id(PENDING)),
        ("sqlite_autoindex_effects_2", id(SECOND_TRY), id(0)),
        ("sqlite_autoindex_calls_2", format!("key-{SECOND_TRY}"), "key-0".into()),
    ] {
        let place = Place::with_every_state().await;
        write_over(&place, index, &old, &new);
        let report = place.verify();
        assert!(report.findings.count() > 0, "{index}");
        let told = report.findings.first().iter().any(|told| told.problem.contains("not in order"));
        assert!(told, "{index}: {:#?}", report.findings);
    }
}

/// SQLite itself cannot read on: that is told, and the rest is looked at all the same.
#[tokio::test]
async fn a_page_that_cannot_be_read_is_told() {
    for table in ["audit", "calls", "effects", "counters", "sqlite_autoindex_calls_1"] {
        let place = Place::with_every_state().await;
        let page = page_of(&place, table);
        damage(&place, |bytes| bytes[page].fill(0xff));
        let report = place.verify();
        let told = report.findings.first().iter().any(|told| told.member == "file");
        assert!(told, "{table}: {:#?}", report.findings);
    }
}

/// A bit may flip where nothing is stored, or in an index that only makes things faster. Everywhere else it is told.
#[tokio::test]
async fn a_bit_that_flips_anywhere_is_told_or_harms_nothing() {
    let place = Place::with_every_state().await;
    let store = place.open();
    many_calls::fill(&store, 100..140).await.unwrap();
    store.close().await;
    let log = || dump(&place.database(), &["SELECT * FROM audit ORDER BY id"]);
    let (right, tables, events) = (std::fs::read(place.database()).unwrap(), place.tables(), log());
    let mut chance = Chance::new(20_261_201);
    let mut told = 0;
    for round in 0..400 {
        let bit = chance.below(right.len() as u64 * 8);
        damage(&place, |bytes| bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8));
        let found = verify::verify(&place.database(), None, &|_, _| {});
        if found.is_ok_and(|report| report.findings.count() == 0) {
            assert_eq!(place.tables(), tables, "round {round}, bit {bit}");
            assert_eq!(log(), events, "round {round}, bit {bit}");
        } else {
            told += 1;
        }
        std::fs::write(place.database(), &right).unwrap();
    }
    assert!(told > 100, "{told} of 400 were told");
    assert_eq!(place.findings(), []);
}

/// Whole pages that are gone: all that is read says so, and nobody is led in a circle.
#[tokio::test]
async fn a_page_that_is_gone_anywhere_is_told() {
    let place = Place::with_every_state().await;
    let store = place.open();
    many_calls::fill(&store, 100..200).await.unwrap();
    store.close().await;
    let (pages, size): (Vec<(String, usize)>, usize) = place.meddle(|db| {
        let mut pages = db.prepare("SELECT name, pageno FROM dbstat")?;
        let pages = pages.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))?;
        let size: i64 = db.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        Ok((pages.collect::<Result<_, _>>()?, size as usize))
    });
    let right = std::fs::read(place.database()).unwrap();
    let read = |name: &str| !name.starts_with("idx_") && name != "sqlite_autoindex_effects_1";
    for (name, number) in pages.iter().filter(|(name, _)| read(name)) {
        for byte in [0, 0xff] {
            damage(&place, |bytes| bytes[(number - 1) * size..number * size].fill(byte));
            let found = verify::verify(&place.database(), None, &|_, _| {});
            let told = found.map_or(true, |report| report.findings.count() > 0);
            assert!(told, "page {number} of {name}, filled with {byte}");
            std::fs::write(place.database(), &right).unwrap();
        }
    }
    assert_eq!(place.findings(), []);
}

/// A name that no event has, and longer than any could be.
#[tokio::test]
async fn a_row_of_nonsense_is_told() {
    let place = Place::with_every_state().await;
    place.execute(&format!("UPDATE audit SET event = '{}', payload = x'00' WHERE id = 3", "x".repeat(1_000)));
    let findings = place.findings();
    assert!(findings.iter().any(|told| told.member == "audit.payload"), "{findings:#?}");
}

#[tokio::test]
async fn an_older_copy_beside_a_newer_head_is_told() {
    let place = Place::with_every_state().await;
    let old = std::fs::read(place.database()).unwrap();
    let store = place.open();
    does(&store, &Snapshot::absent(), submit(&request(77))).await;
    store.close().await;
    assert_eq!(place.findings(), []);
    std::fs::write(place.database(), old).unwrap();
    let findings = place.findings();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].law, Law::AcknowledgedIsDurable);
}

/// A copy for looking at has no head file, and is no worse for it; but then nothing tells whether its end is missing.
#[tokio::test]
async fn without_a_head_file_the_end_is_not_checked() {
    let place = Place::with_every_state().await;
    std::fs::remove_file(place.beside("-head")).unwrap();
    let report = place.verify();
    assert_eq!(report.findings.first(), []);
    assert!(report.unchecked[0].contains("head file is missing"), "{:?}", report.unchecked);
}

#[tokio::test]
async fn what_is_no_database_is_an_error() {
    let place = Place::new();
    let verify = || verify::verify(&place.database(), None, &|_, _| {});
    assert!(matches!(verify(), Err(VerifyError::Open(_))), "there is none");
    std::fs::write(place.database(), b"this is not a database, whatever its name says").unwrap();
    assert!(matches!(verify(), Err(VerifyError::Open(_))), "it is another file");
}

/// Beside a server, an attempt whose lease has long been over is one that nobody gives up.
#[tokio::test]
async fn an_attempt_that_nobody_gives_up_is_told_where_a_server_runs() {
    let place = Place::with_every_state().await;
    let much_later = Timestamp::from_micros(i64::MAX);
    let report = verify::verify(&place.database(), Some(much_later), &|_, _| {}).unwrap();
    let findings = report.findings.first();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!((findings[0].law, findings[0].call.clone()), (Law::EverythingEnds, Some(id(RUNNING))));
}

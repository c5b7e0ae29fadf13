//! There is no value in any row that could change unnoticed: each is changed in each way, and has to be named.

use callonce::domain::id::{Position, Version};
use callonce::domain::law::Violation;
use callonce::store::Store as _;
use callonce::store::cell::Cell;
use callonce::store::counters::Tally;
use callonce::store::memory::MemoryStore;
use callonce::store::projection::{CallRow, EffectRow};
use callonce::store::record::Recorded;
use callonce::store::verify::{CallCheck, EVENT_COLUMNS, Findings, Terms};

use crate::place::{CALLS, call_id, every_state};

/// All rows of a call.
struct Rows<'a> {
    name: String,
    events: Vec<[Cell<'a>; 8]>,
    row: [Cell<'a>; 25],
    effect: Option<[Cell<'a>; 5]>,
}

impl Rows<'_> {
    fn judge(&self) -> Vec<Violation> {
        let mut check = CallCheck::new(self.name.as_bytes());
        self.events.iter().for_each(|event| check.event(event));
        check.row(&self.row);
        self.effect.iter().for_each(|effect| check.effect(effect));
        let mut findings = Findings::default();
        let terms = Terms { upto: Position(u64::MAX), now: None };
        check.finish(terms, &mut Tally::default(), &mut findings);
        findings.first().to_vec()
    }
}

/// Calls `look` with the rows of each call, in each state.
async fn each_call(mut look: impl FnMut(Rows<'_>)) {
    let store = MemoryStore::new();
    every_state(&store).await;
    for n in 1..=CALLS {
        let history = store.history(call_id(n), Version::NONE, 100).await.unwrap();
        let snapshot = store.load(call_id(n)).await.unwrap().unwrap();
        let name = call_id(n).to_string();
        let details: Vec<_> = history.iter().map(Recorded::detail).collect();
        let events = history.iter().zip(&details).map(|(event, detail)| {
            [
                Cell::Integer(event.position.0.cast_signed()),
                Cell::Real(event.entry.event.at().as_seconds()),
                Cell::text(&name),
                Cell::text(event.entry.event.name()),
                Cell::optional(detail.as_deref(), Cell::text),
                Cell::Integer(event.entry.version.0.cast_signed()),
                Cell::Blob(&event.entry.payload),
                Cell::Blob(event.entry.hash.as_bytes()),
            ]
        });
        let row = CallRow::of(&snapshot).unwrap();
        let effect = EffectRow::of(&snapshot);
        look(Rows {
            name: name.clone(),
            events: events.collect(),
            row: row.cells(),
            effect: effect.as_ref().map(EffectRow::cells),
        });
    }
}

/// What a value can turn into.
fn others<'a>(cell: Cell<'a>) -> Vec<Cell<'a>> {
    let mut others = vec![
        Cell::Null,
        Cell::Integer(0),
        Cell::Integer(1),
        Cell::Integer(-1),
        Cell::Integer(i64::MAX),
        Cell::Real(0.5),
        Cell::text(""),
        Cell::text("pending"),
        Cell::Text(b"\xff"),
        Cell::Blob(b""),
        Cell::Blob(&[0; 32]),
    ];
    match cell {
        Cell::Null => {}
        Cell::Integer(value) => {
            others.extend([Cell::Real(value as f64), Cell::Integer(value.wrapping_add(1))])
        }
        Cell::Real(value) => others.push(Cell::Real(f64::from_bits(value.to_bits() ^ 1))),
        Cell::Text(bytes) => others.extend([Cell::Blob(bytes), Cell::Text(&bytes[..bytes.len() / 2])]),
        Cell::Blob(bytes) => others.extend([Cell::Text(bytes), Cell::Blob(&bytes[..bytes.len() / 2])]),
    }
    others.retain(|other| *other != cell);
    others
}

#[tokio::test]
async fn as_they_were_written_nothing_is_wrong() {
    each_call(|rows| assert_eq!(rows.judge(), [], "{}", rows.name)).await;
}

#[tokio::test]
async fn every_value_of_a_call_counts() {
    each_call(|mut rows| {
        for (place, column) in CallRow::COLUMNS.into_iter().enumerate() {
            let right = rows.row[place];
            for wrong in others(right) {
                rows.row[place] = wrong;
                let found = rows.judge();
                assert_eq!(found.len(), 1, "{column} = {wrong}, not {right}: {found:#?}");
                assert_eq!(found[0].member, format!("calls.{column}"));
                assert_eq!(found[0].call.as_ref(), Some(&rows.name));
            }
            rows.row[place] = right;
        }
    })
    .await;
}

#[tokio::test]
async fn every_value_of_an_effect_counts() {
    each_call(|mut rows| {
        for (place, column) in EffectRow::COLUMNS.into_iter().enumerate() {
            let Some(right) = rows.effect.map(|effect| effect[place]) else { return };
            for wrong in others(right) {
                rows.effect.as_mut().unwrap()[place] = wrong;
                let found = rows.judge();
                let told = |told: &Violation| told.member == format!("effects.{column}");
                assert!(found.iter().any(told), "{column} = {wrong}, not {right}: {found:#?}");
            }
            rows.effect.as_mut().unwrap()[place] = right;
        }
    })
    .await;
}

#[tokio::test]
async fn every_value_of_an_event_counts() {
    each_call(|mut rows| {
        for event in 0..rows.events.len() {
            let version = Version(event as u64 + 1);
            for (place, column) in EVENT_COLUMNS.into_iter().enumerate() {
                let right = rows.events[event][place];
                for wrong in others(right) {
                    // Another position in the right order is a gap elsewhere, which the log as a whole shows.
                    if column == "id" && wrong.as_integer().is_some_and(|id| id > 0) {
                        continue;
                    }
                    rows.events[event][place] = wrong;
                    let found = rows.judge();
                    let told = |told: &Violation| {
                        let law = if column == "id" { "position" } else { column };
                        let named = told.member == format!("audit.{column}") || told.member == law;
                        // An event that says another version is told of at that version.
                        named && (column == "version" || told.version == Some(version))
                    };
                    assert!(found.iter().any(told), "{version} {column} = {wrong}, not {right}: {found:#?}");
                }
                rows.events[event][place] = right;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_row_that_is_missing_or_too_many_is_told() {
    each_call(|mut rows| {
        if let Some(effect) = rows.effect.take() {
            assert!(rows.judge().iter().any(|told| told.member == "effects"), "{}", rows.name);
            rows.effect = Some(effect);
        }
        let last = rows.events.pop().unwrap();
        assert!(!rows.judge().is_empty(), "{}: without its last event", rows.name);
        rows.events.push(last);
        rows.events.push(last);
        assert!(!rows.judge().is_empty(), "{}: with its last event twice", rows.name);
        rows.events.pop();
        for missing in 0..rows.events.len().saturating_sub(1) {
            let event = rows.events.remove(missing);
            let found = rows.judge();
            assert!(found.iter().any(|told| told.member == "version"), "{}: {found:#?}", rows.name);
            rows.events.insert(missing, event);
        }
    })
    .await;
}

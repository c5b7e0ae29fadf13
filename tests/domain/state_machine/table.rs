//! Does the page say what `decide` does?

use callonce::domain::command::Command;
use callonce::domain::time::Timestamp;
use callonce::domain::{Call, Refusal, decide, evolve};

use super::page::{table, tables};
use super::situations::situations;
use super::states::{COLUMNS, calls, column};

/// A decision, as a cell of the page has it.
fn cell(call: &Call, command: &Command) -> String {
    match decide(call, command) {
        Err(refusal) => format!("refused: {}", word(&refusal)),
        Ok(events) if events.is_empty() => "–".into(),
        Ok(events) => {
            let names: Vec<_> = events.iter().map(|event| format!("`{}`", event.name())).collect();
            let after = events.iter().fold(call.clone(), |call, event| evolve(&call, event).expect("legal"));
            format!("{} → {}", names.join(", "), column(&after))
        }
    }
}

fn word(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotFound => "not found",
        Refusal::IdempotencyConflict { .. } => "conflict",
        Refusal::Stale { .. } => "stale",
        Refusal::Final => "final",
        Refusal::Held => "held",
        Refusal::Leased { .. } => "leased",
        Refusal::NotPending => "not pending",
        Refusal::NotDue { .. } => "not due",
        Refusal::NotHeld => "not held",
        Refusal::EffectMismatch { .. } => "effect mismatch",
    }
}

#[test]
fn every_cell_says_what_decide_does() {
    let mut wrong = Vec::new();
    for situation in situations() {
        let page = table(situation.table);
        let row = page.rows.iter().find(|(name, _)| name == situation.row);
        let (_, cells) = row.unwrap_or_else(|| panic!("no row `{}` in `{}`", situation.row, situation.table));
        for (state, says) in COLUMNS.iter().zip(cells) {
            let mut does = Vec::new();
            for given in calls().iter().filter(|given| column(&given.call) == *state) {
                does.extend(
                    (situation.commands)(&given.call).iter().map(|command| cell(&given.call, command)),
                );
            }
            does.sort();
            does.dedup();
            if does.join(" or ") != *says {
                let (table, row) = (situation.table, situation.row);
                wrong
                    .push(format!("{table} | {row} | {state}: the page says `{says}`, decide does {does:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_row_is_a_situation_that_is_tried() {
    let tried: Vec<_> = situations().iter().map(|situation| (situation.table, situation.row)).collect();
    for table in tables().iter().filter(|table| table.columns == COLUMNS && table.name != "event") {
        for (row, _) in &table.rows {
            assert!(tried.contains(&(&table.name, row)), "nobody tries `{row}` of `{}`", table.name);
        }
    }
}

#[test]
fn every_state_has_calls_to_try() {
    for state in COLUMNS {
        assert!(calls().iter().any(|given| column(&given.call) == state), "no call is {state}");
    }
}

#[test]
fn the_states_are_shown_as_the_page_says() {
    for (state, cells) in table("state").rows {
        for given in calls().iter().filter(|given| column(&given.call) == state) {
            let status = given.call.status().map_or("", |status| status.as_str());
            assert!(cells[0].split(" or ").any(|shown| shown == status), "{state} is shown as {status}");
            assert_eq!(cells[1] == "yes", given.call.is_final(), "{state} is final");
        }
    }
    let states: Vec<_> = table("state").rows.into_iter().map(|(state, _)| state).collect();
    assert_eq!(states, COLUMNS);
}

#[test]
fn the_refusals_are_listed_with_their_messages() {
    let at = Timestamp::from_micros(0);
    let refusals = [
        Refusal::NotFound,
        Refusal::IdempotencyConflict { paths: vec!["args.amount".into()] },
        Refusal::Stale { attempt: 1, current: 2 },
        Refusal::Final,
        Refusal::Held,
        Refusal::Leased { until: at },
        Refusal::NotPending,
        Refusal::NotDue { due: at },
        Refusal::NotHeld,
        Refusal::EffectMismatch { owed: true },
    ];
    let said = refusals.map(|refusal| (word(&refusal).to_string(), vec![refusal.to_string()]));
    assert_eq!(table("refusal").rows, said);
}

//! What holds for every call and every command, whatever the table says.

use callonce::domain::command::Command;
use callonce::domain::event::Event;
use callonce::domain::{Call, decide, evolve};

use super::situations::situations;
use super::states::calls;

/// Every call × every command of every situation, also where the situation was made for another call.
fn everything() -> impl Iterator<Item = (Call, Command)> {
    let calls: Vec<Call> = calls().into_iter().map(|given| given.call).collect();
    let made_for = calls.clone();
    let commands: Vec<Command> = situations()
        .into_iter()
        .flat_map(|situation| made_for.iter().flat_map(situation.commands).collect::<Vec<_>>())
        .collect();
    calls.into_iter().flat_map(move |call| {
        commands.clone().into_iter().map(move |command| (call.clone(), command)).collect::<Vec<_>>()
    })
}

fn after(call: &Call, events: &[Event]) -> Call {
    events.iter().fold(call.clone(), |call, event| match evolve(&call, event) {
        Ok(call) => call,
        Err(illegal) => panic!("{illegal}"),
    })
}

#[test]
fn every_event_that_is_decided_is_legal() {
    let mut decided = 0;
    for (call, command) in everything() {
        if let Ok(events) = decide(&call, &command) {
            after(&call, &events);
            decided += events.len();
        }
    }
    assert!(decided > 1000, "only {decided} events were decided");
}

#[test]
fn a_final_call_never_changes() {
    for (call, command) in everything().filter(|(call, _)| call.is_final()) {
        let decided = decide(&call, &command);
        assert!(!matches!(&decided, Ok(events) if !events.is_empty()), "{command:?} led to {decided:?}");
    }
}

#[test]
fn attempts_only_rise_and_one_by_one() {
    for (call, command) in everything() {
        let Ok(events) = decide(&call, &command) else { continue };
        let claims = events.iter().filter(|event| matches!(event, Event::Claimed { .. })).count();
        let attempts = call.attempts() + u32::try_from(claims).expect("few events");
        assert_eq!(after(&call, &events).attempts(), attempts, "{command:?} of {call:?}");
    }
}

#[test]
fn a_call_never_becomes_another_request() {
    for (call, command) in everything().filter(|(call, _)| call.request().is_some()) {
        let Ok(events) = decide(&call, &command) else { continue };
        assert_eq!(after(&call, &events).request(), call.request(), "{command:?}");
    }
}

#[test]
fn only_the_open_attempt_and_a_settlement_bring_an_effect() {
    for (call, command) in everything() {
        let Ok(events) = decide(&call, &command) else { continue };
        let effects = events.iter().filter(|event| matches!(event, Event::Succeeded { effect: Some(_), .. }));
        if effects.count() > 0 {
            let open = call.open_attempt().expect("an effect needs an open attempt");
            assert!(open.side_effect, "{command:?} of {call:?}");
        }
    }
}

#[test]
fn deciding_twice_decides_the_same() {
    for (call, command) in everything() {
        assert_eq!(decide(&call, &command), decide(&call, &command));
    }
}

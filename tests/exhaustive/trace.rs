//! A counterexample as a story: one line a step, then the law that is broken.

use std::fmt::Write as _;

use callonce::domain::call::Call;
use stateright::{Model, Path};

use crate::law::Law;
use crate::step::Step;
use crate::system::System;
use crate::world::{Report, Worker, World};

/// The path in words; people count clients, workers and calls from 1.
pub fn story(system: &System, path: Path<World, Step>) -> String {
    let mut told = String::new();
    let states = path.into_vec();
    for (number, (before, step)) in states.iter().enumerate() {
        let Some(step) = step else { break };
        let after = system.next_state(before, *step).expect("it is a step of the path");
        let said = sentence(system, before, *step, &after);
        let changed = changes(before, &after);
        writeln!(told, "{:>3}. {said}{changed}", number + 1).expect("a string takes all");
    }
    let (end, _) = states.last().expect("a path has a state");
    for fault in Law::ALL.into_iter().filter_map(|law| Some((law, law.fault(system, end)?))) {
        writeln!(told, "     BROKEN {}: {}", fault.0.as_str(), fault.1).expect("a string takes all");
    }
    told
}

fn sentence(system: &System, before: &World, step: Step, after: &World) -> String {
    match step {
        Step::Send { client } => {
            let (key, amount) = system.setup.clients[client];
            format!("client {} sends k{key} with amount {amount}", client + 1)
        }
        Step::Serve { client } => {
            let done = after.clients[client].carried_out.is_none();
            let met = if done { "and is answered" } else { "but the key is known: the server reads it" };
            format!("the server carries out the request of client {} {met}", client + 1)
        }
        Step::LoseRequest { client } => format!("the request of client {} is lost", client + 1),
        Step::Take { call } => format!("{} reads call {}", idle(before), call + 1),
        Step::Claim { worker } => claim(worker, &before.workers[worker], &after.workers[worker]),
        Step::ClaimUnheard { worker } => format!("worker {} claims, and never hears that it has", worker + 1),
        Step::Ask { worker } => format!("worker {} asks the downstream", worker + 1),
        Step::TimeOut { worker } => format!("worker {} stops waiting for the downstream", worker + 1),
        Step::Report { worker } => report(worker, &before.workers[worker], &after.workers[worker]),
        Step::ReportUnheard { worker } => {
            let said = report(worker, &before.workers[worker], &Worker::Idle);
            format!("{said}, and never hears that it is recorded")
        }
        Step::Arrive { sent } => format!("{} arrives at the downstream", request(before, sent)),
        Step::Decline { sent } => format!("{} is declined by the downstream", request(before, sent)),
        Step::Drop { sent } => format!("{} is lost", request(before, sent)),
        Step::Forget => "the downstream forgets the effect ids it knew".into(),
        Step::LeaseEnds { call } => format!("the lease of call {} is over", call + 1),
        Step::Find { call } => format!("the sweeper finds call {}", call + 1),
        Step::GiveUp => "the sweeper gives its attempt up".into(),
        Step::Settle { call } => {
            let word = if before.ledger[before.ledger_of(call)] == 0 { "did not happen" } else { "happened" };
            format!("the downstream says that call {} {word}, which settles it", call + 1)
        }
        Step::Crash => "the server dies".into(),
        Step::CrashOf { worker } => format!("the process of worker {} dies", worker + 1),
        Step::Reclaim { call } => format!("the next server takes call {} back", call + 1),
        Step::Open => "the next server serves".into(),
        Step::Restart { worker } => format!("the process of worker {} comes back", worker + 1),
    }
}

fn idle(world: &World) -> String {
    let worker = world.workers.iter().position(|worker| *worker == Worker::Idle);
    worker.map_or_else(String::new, |worker| format!("worker {}", worker + 1))
}

fn claim(worker: usize, before: &Worker, after: &Worker) -> String {
    let version = match before {
        Worker::Claiming { seen, .. } => seen.version,
        Worker::Dead | Worker::Idle | Worker::Running { .. } | Worker::Reporting { .. } => 0,
    };
    let wants = format!("worker {} wants to claim what it read at version {version}", worker + 1);
    match after {
        Worker::Running { claimed, .. } => format!("{wants}: it has attempt {}", claimed.call.attempts()),
        Worker::Claiming { .. } => format!("{wants}: the call has moved on, it reads again"),
        Worker::Dead | Worker::Idle | Worker::Reporting { .. } => format!("{wants}: refused"),
    }
}

fn report(worker: usize, before: &Worker, after: &Worker) -> String {
    let (attempt, word) = match before {
        Worker::Reporting { attempt, report, .. } => (
            *attempt,
            match report {
                Report::Happened => "it happened",
                Report::Declined => "it was declined",
                Report::Unknown => "nobody knows",
            },
        ),
        Worker::Dead | Worker::Idle | Worker::Claiming { .. } | Worker::Running { .. } => (0, ""),
    };
    let says = format!("worker {} reports of attempt {attempt}: {word}", worker + 1);
    match after {
        Worker::Reporting { .. } => format!("{says}; the call has moved on, it reads again"),
        Worker::Dead | Worker::Idle | Worker::Claiming { .. } | Worker::Running { .. } => says,
    }
}

fn request(world: &World, sent: usize) -> String {
    let sent = &world.under_way[sent];
    format!("the request of attempt {} of call {}", sent.attempt, sent.call + 1)
}

/// What the step changed in the database and in the world outside.
fn changes(before: &World, after: &World) -> String {
    let mut changes = String::new();
    for (call, stored) in after.calls.iter().enumerate() {
        let (rows, was) = before.calls.get(call).map_or((0, None), |was| (was.effect_rows, Some(&was.now)));
        if was != Some(&stored.now) {
            let attempt = match &stored.now.call {
                Call::Running { attempt, .. } | Call::Held { attempt, .. } => {
                    format!(" (attempt {})", attempt.number)
                }
                Call::Absent | Call::Pending { .. } | Call::Succeeded { .. } | Call::Failed { .. } => {
                    String::new()
                }
            };
            let (state, version) = (stored.now.call.state_name(), stored.now.version);
            changes += &format!("  → call {} is {state}{attempt}, version {version}", call + 1);
        }
        if stored.effect_rows != rows {
            changes += &format!("  → {} row(s) in effects", stored.effect_rows);
        }
    }
    for (key, (was, times)) in before.ledger.iter().zip(&after.ledger).enumerate() {
        if was != times {
            changes += &format!("  → THE EFFECT of k{} has happened {times}×", key + 1);
        }
    }
    changes
}

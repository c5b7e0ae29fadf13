//! What servers do beside running tools: give up attempts, settle held calls, die and come back.

use callonce::domain::Command;
use callonce::domain::call::{Call, Effect};
use callonce::domain::command::{Recover, Resolution, Resolve};
use callonce::domain::event::Interruption;
use callonce::testing::random_calls::{LEASE_SECONDS, at};

use super::Step;
use crate::execute::Turn;
use crate::guard::Guard;
use crate::setup::Servers;
use crate::system::System;
use crate::world::{Seen, Sweep, Worker, World};

pub fn offer(system: &System, world: &World, steps: &mut Vec<Step>) {
    offer_recovery(system, world, steps);
    match system.setup.servers {
        Servers::One if !world.up => {
            let left: Vec<_> = running(world).map(|call| Step::Reclaim { call }).collect();
            steps.extend(if left.is_empty() { vec![Step::Open] } else { left });
        }
        // A process that dies while it does nothing loses nothing.
        Servers::One if is_busy(world) => steps.push(Step::Crash),
        Servers::One => {}
        Servers::Many => {
            let busy = |worker: &usize| !matches!(world.workers[*worker], Worker::Dead | Worker::Idle);
            steps.extend((0..world.workers.len()).filter(busy).map(|worker| Step::CrashOf { worker }));
            let dead = world.workers.iter().position(|worker| *worker == Worker::Dead);
            steps.extend(dead.map(|worker| Step::Restart { worker }));
        }
    }
}

fn offer_recovery(system: &System, world: &World, steps: &mut Vec<Step>) {
    if !world.alive() {
        return;
    }
    for call in running(world) {
        match world.calls[call].lease_over {
            false => steps.push(Step::LeaseEnds { call }),
            true if world.sweeper.is_some() || system.setup.lacks(Guard::Sweeper) => {}
            true => steps.push(Step::Find { call }),
        }
    }
    if world.sweeper.is_some() {
        steps.push(Step::GiveUp);
    }
    let may_settle = |call: &usize| {
        matches!(world.calls[*call].now.call, Call::Held { .. })
            && (system.setup.lacks(Guard::Settled) || nothing_under_way(world, *call))
    };
    if system.setup.settles {
        steps.extend((0..world.calls.len()).filter(may_settle).map(|call| Step::Settle { call }));
    }
}

fn running(world: &World) -> impl Iterator<Item = usize> {
    let running = |call: &usize| matches!(world.calls[*call].now.call, Call::Running { .. });
    (0..world.calls.len()).filter(running)
}

fn is_busy(world: &World) -> bool {
    world.sweeper.is_some()
        || world.workers.iter().any(|worker| *worker != Worker::Idle)
        || world.clients.iter().any(|client| client.carried_out.is_some())
}

/// The attempt's time limit and the settle time have passed: no request of this call can reach the downstream any more.
fn nothing_under_way(world: &World, call: usize) -> bool {
    let runs = |worker: &Worker| matches!(worker, Worker::Running { call: running, .. } if *running == call);
    world.under_way.iter().all(|sent| sent.call != call) && !world.workers.iter().any(runs)
}

pub fn lease_ends(world: &mut World, call: usize) {
    world.calls[call].lease_over = true;
    let current = world.calls[call].now.call.attempts();
    for worker in &mut world.workers {
        if worker.attempt() == Some((call, current))
            && let Worker::Running { lease_over, .. } | Worker::Reporting { lease_over, .. } = worker
        {
            *lease_over = true;
        }
    }
}

pub fn find(world: &mut World, call: usize) {
    let seen = world.calls[call].now.clone();
    world.sweeper = Some(Sweep { call, attempt: seen.call.attempts(), seen });
}

pub fn give_up(system: &System, world: &mut World) {
    let Some(sweep) = world.sweeper.take() else { return };
    let Sweep { call, attempt, seen } = &sweep;
    let command = recover(system, *attempt, Interruption::LeaseOver);
    if let Turn::Conflict(_) = world.turn(&system.setup, Some(*call), seen, command) {
        world.sweeper = Some(Sweep { seen: world.calls[*call].now.clone(), ..sweep });
    }
}

fn recover(system: &System, attempt: u32, cause: Interruption) -> Command {
    Command::Recover(Recover {
        at: at(LEASE_SECONDS),
        attempt,
        cause,
        message: "given up".into(),
        interrupted: Some(system.setup.interrupted),
        max_attempts: system.setup.max_attempts,
    })
}

/// What the downstream says is the truth; whether it stays true is the question.
pub fn settle(system: &System, world: &mut World, call: usize) {
    let outcome = match world.ledger[world.ledger_of(call)] {
        0 => Resolution::NotHappened,
        _ => Resolution::Happened { result: system.result.clone(), effect: Some(Effect { amount: Some(7) }) },
    };
    let command = Command::Resolve(Resolve {
        at: at(LEASE_SECONDS),
        outcome,
        who: "probe".into(),
        evidence: "asked the downstream".into(),
        max_attempts: system.setup.max_attempts,
    });
    let seen: Seen = world.calls[call].now.clone();
    world.turn(&system.setup, Some(call), &seen, command);
}

pub fn crash(world: &mut World) {
    world.up = false;
    world.sweeper = None;
    world.workers.fill(Worker::Dead);
    for client in &mut world.clients {
        client.carried_out = None;
    }
}

pub fn reclaim(system: &System, world: &mut World, call: usize) {
    let seen = world.calls[call].now.clone();
    let command = recover(system, seen.call.attempts(), Interruption::OwnerGone);
    world.turn(&system.setup, Some(call), &seen, command);
}

pub fn open(world: &mut World) {
    world.up = true;
    world.workers.fill(Worker::Idle);
}

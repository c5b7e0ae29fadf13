//! Why everything ends: a number that every step raises, but for the faults.
//!
//! A fault can throw a call back, and there are only so many of them. All other steps raise the rank, which is bounded, so
//! every run ends, under any schedule; and the state in which it ends is checked by law L8.

use callonce::domain::call::Call;

use crate::world::{Client, Seen, Sweep, Worker, World};

/// How far a world has come: compared from left to right.
pub type Rank = [u64; 8];

pub fn rank(world: &World) -> Rank {
    let now = |call: usize| &world.calls[call].now;
    let servers = world.workers.iter().filter(|worker| **worker != Worker::Dead).count() as u64;
    [
        // An append that says something new.
        world.calls.iter().map(|stored| stored.now.version).sum(),
        // A process that came back.
        servers + u64::from(world.up),
        // Time that passed.
        world.calls.iter().filter(|stored| stored.lease_over).count() as u64,
        // A client that sent again, which each does only so often.
        world.clients.iter().map(|client| u64::from(client.sent)).sum(),
        world.clients.iter().map(|client| of_client(client, now)).sum(),
        world.workers.iter().map(|worker| of_worker(worker, now)).sum(),
        world.sweeper.as_ref().map_or(2, |sweep| of_sweep(sweep, now(sweep.call))),
        // A request that arrived.
        u64::MAX - world.under_way.len() as u64,
    ]
}

fn of_client<'w>(client: &Client, now: impl Fn(usize) -> &'w Seen) -> u64 {
    match &client.carried_out {
        Some((None, _)) => 0,
        Some((Some(call), seen)) if *seen != *now(*call) => 1,
        Some((Some(_), _)) => 2,
        None => 3,
    }
}

/// Learning that a view is old, and letting go of what is not to be had, are steps forward: only an append by somebody
/// else can bring back what was let go.
fn of_worker<'w>(worker: &Worker, now: impl Fn(usize) -> &'w Seen) -> u64 {
    match worker {
        Worker::Dead => 0,
        Worker::Running { asked: false, .. } => 1,
        Worker::Running { asked: true, .. } => 2,
        Worker::Reporting { call, seen, .. } if seen != now(*call) => 3,
        Worker::Reporting { .. } => 4,
        Worker::Claiming { call, seen } if seen != now(*call) => 5,
        Worker::Claiming { seen, .. } if !matches!(seen.call, Call::Pending { .. }) => 6,
        Worker::Idle => 7,
        Worker::Claiming { .. } => 8,
    }
}

fn of_sweep(sweep: &Sweep, now: &Seen) -> u64 {
    match sweep.seen == *now {
        false => 0,
        true if !matches!(now.call, Call::Running { .. }) || now.call.attempts() != sweep.attempt => 1,
        true => 3,
    }
}

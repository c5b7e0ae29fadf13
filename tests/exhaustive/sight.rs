//! What has to come up somewhere, or the search has not been where the danger is.

use callonce::domain::call::Call;
use stateright::Property;

use crate::system::System;
use crate::world::{Stored, Worker, World};

macro_rules! sights {
    ($($name:literal: $seen:expr;)+) => {
        /// The names of all of them.
        pub const ALL: &[&str] = &[$($name),+];

        /// Each, to be found in some state.
        pub fn sights() -> Vec<Property<System>> {
            vec![$(Property::sometimes($name, |system, world| $seen(system, world))),+]
        }
    };
}

sights! {
    "a call succeeds": |_, world| some_call(world, |call| matches!(call.now.call, Call::Succeeded { .. }));
    "a call uses up its attempts": |_, world| some_call(world, |call| {
        matches!(call.now.call, Call::Failed { .. }) && call.now.call.is_final()
    });
    "a call fails and may be retried": |_, world| some_call(world, |call| call.now.call.state_name() == "failed-retryable");
    "a call is held": |_, world| some_call(world, |call| matches!(call.now.call, Call::Held { .. }));
    // Where nothing is declined and everything is held, only settling leads back to pending.
    "a held call, settled, runs again": |system: &System, world: &World| {
        !system.setup.declines && system.setup.settles && some_call(world, |call| {
            matches!(&call.now.call, Call::Pending { attempts: 1.., .. })
        })
    };
    "the effect has happened, nothing of it is recorded, and the server is dead": |_: &System, world: &World| {
        !world.up && world.ledger.iter().any(|times| *times > 0) && some_call(world, unrecorded)
    };
    "two requests of one call are under way": |_: &System, world: &World| {
        world.under_way.windows(2).any(|pair| pair[0].call == pair[1].call)
    };
    "a request arrives that nobody waits for": |_: &System, world: &World| {
        world.ledger.iter().any(|times| *times > 0) && some_call(world, unrecorded)
            && world.workers.iter().all(|worker| worker.attempt().is_none())
    };
    "a worker reports after another has the attempt": |_: &System, world: &World| some_report(world, |attempt, call| {
        matches!(call.now.call, Call::Running { .. }) && attempt < call.now.call.attempts()
    });
    "a worker reports what is recorded already": |_: &System, world: &World| some_report(world, |attempt, call| {
        call.now.call.is_final() && attempt == call.now.call.attempts()
    });
    "two workers ask for one call at once, one of them past its lease": |_: &System, world: &World| {
        let asking = |worker: &&Worker| matches!(worker, Worker::Running { asked: true, .. });
        let calls: Vec<_> = world.workers.iter().filter(asking).filter_map(Worker::attempt).collect();
        calls.iter().enumerate().any(|(at, (call, _))| calls[..at].iter().any(|(other, _)| other == call))
    };
    "a key is met with another request": |_: &System, world: &World| world.clients.iter().any(|client| {
        client.told.is_none() && client.sent > 0 && client.carried_out.is_none()
            && some_call(world, |call| matches!(call.now.call, Call::Succeeded { .. }))
    });
}

fn some_call(world: &World, is: impl Fn(&Stored) -> bool) -> bool {
    world.calls.iter().any(is)
}

fn unrecorded(call: &Stored) -> bool {
    call.effect_rows == 0
}

fn some_report(world: &World, is: impl Fn(u32, &Stored) -> bool) -> bool {
    world.workers.iter().any(|worker| match worker {
        Worker::Reporting { call, attempt, .. } => is(*attempt, &world.calls[*call]),
        Worker::Dead | Worker::Idle | Worker::Claiming { .. } | Worker::Running { .. } => false,
    })
}

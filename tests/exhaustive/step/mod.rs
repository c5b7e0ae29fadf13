//! One thing that can happen. Between any two steps any amount of time may pass, and any other step may come.

pub mod client;
pub mod downstream;
pub mod server;
pub mod worker;

use crate::system::System;
use crate::world::{Worker, World};

/// A step; numbers are places in the world's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A client sends its request (again).
    Send { client: usize },
    /// The server takes one turn for a client's request.
    Serve { client: usize },
    /// A request is lost on its way, or with the process that had it.
    LoseRequest { client: usize },
    /// An idle worker reads a pending call.
    Take { call: usize },
    /// A worker takes one turn to claim its call.
    Claim { worker: usize },
    /// The same, and the store's answer is lost.
    ClaimUnheard { worker: usize },
    /// A worker sends its request to the downstream.
    Ask { worker: usize },
    /// A worker stops waiting for the downstream.
    TimeOut { worker: usize },
    /// A worker takes one turn to record how its attempt ended.
    Report { worker: usize },
    /// The same, and the store's answer is lost.
    ReportUnheard { worker: usize },
    /// A request reaches the downstream, which does what it asks, or knows that it has.
    Arrive { sent: usize },
    /// A request reaches the downstream, which says "not now".
    Decline { sent: usize },
    /// A request to the downstream is lost.
    Drop { sent: usize },
    /// The downstream forgets the ids it knew.
    Forget,
    /// Time passes until the lease of a running call is over.
    LeaseEnds { call: usize },
    /// The sweeper reads a running call whose lease is over.
    Find { call: usize },
    /// The sweeper takes one turn to give the attempt up.
    GiveUp,
    /// Somebody settles a held call by what the downstream says.
    Settle { call: usize },
    /// The one server dies.
    Crash,
    /// One of many servers dies.
    CrashOf { worker: usize },
    /// The one server, starting, takes back a call that its predecessor ran.
    Reclaim { call: usize },
    /// The one server has taken everything back, and serves.
    Open,
    /// One of many servers comes back.
    Restart { worker: usize },
}

impl Step {
    /// Whether this is something going wrong, of which there is only so much.
    pub fn is_fault(self, world: &World) -> bool {
        match self {
            Self::LoseRequest { .. }
            | Self::ClaimUnheard { .. }
            | Self::ReportUnheard { .. }
            | Self::Drop { .. }
            | Self::Forget
            | Self::Crash
            | Self::CrashOf { .. } => true,
            // Nobody answers a request that is lost; one that is only slow is a fault.
            Self::TimeOut { worker } => {
                let attempt = world.workers[worker].attempt();
                world.under_way.iter().any(|sent| attempt == Some((sent.call, sent.attempt)))
            }
            // A worker that lives reports within its lease, unless something holds it up.
            Self::LeaseEnds { call } => {
                let current = Some((call, world.calls[call].now.call.attempts()));
                world.workers.iter().any(|worker| worker.attempt() == current)
            }
            Self::Send { .. }
            | Self::Serve { .. }
            | Self::Take { .. }
            | Self::Claim { .. }
            | Self::Ask { .. }
            | Self::Report { .. }
            | Self::Arrive { .. }
            | Self::Decline { .. }
            | Self::Find { .. }
            | Self::GiveUp
            | Self::Settle { .. }
            | Self::Reclaim { .. }
            | Self::Open
            | Self::Restart { .. } => false,
        }
    }

    /// Lets it happen; nothing if it cannot, after all.
    pub fn take(self, system: &System, world: &mut World) -> Option<()> {
        match self {
            Self::Send { client } => client::send(world, client),
            Self::Serve { client } => client::serve(system, world, client),
            Self::LoseRequest { client } => world.clients[client].carried_out = None,
            Self::Take { call } => worker::take(world, call),
            Self::Claim { worker } => drop(worker::claim(system, world, worker)),
            Self::ClaimUnheard { worker } => {
                worker::claim(system, world, worker).then(|| world.workers[worker] = Worker::Idle)?;
            }
            Self::Ask { worker } => downstream::ask(system, world, worker),
            Self::TimeOut { worker } => worker::time_out(world, worker),
            Self::Report { worker } => drop(worker::report(system, world, worker)),
            Self::ReportUnheard { worker } => {
                let unaware = world.workers[worker].clone().unheard();
                worker::report(system, world, worker).then(|| world.workers[worker] = unaware)?;
            }
            Self::Arrive { sent } => downstream::arrive(system, world, sent),
            Self::Decline { sent } => downstream::decline(world, sent),
            Self::Drop { sent } => drop(world.under_way.remove(sent)),
            Self::Forget => world.known.clear(),
            Self::LeaseEnds { call } => server::lease_ends(world, call),
            Self::Find { call } => server::find(world, call),
            Self::GiveUp => server::give_up(system, world),
            Self::Settle { call } => server::settle(system, world, call),
            Self::Crash => server::crash(world),
            Self::CrashOf { worker } => world.workers[worker] = Worker::Dead,
            Self::Reclaim { call } => server::reclaim(system, world, call),
            Self::Open => server::open(world),
            Self::Restart { worker } => world.workers[worker] = Worker::Idle,
        }
        Some(())
    }
}

//! What is explored: how many of everything, and what may go wrong.

use callonce::domain::policy::Interrupted;

use crate::guard::Guard;

/// One bounded world. Small numbers are enough: a law that can be broken at all is broken by few actors in few steps.
#[derive(Debug, Clone)]
pub struct Setup {
    pub name: &'static str,
    pub servers: Servers,
    /// Tool runs that can be under way at once, over all servers.
    pub workers: usize,
    /// What each client wants: the number of its key, and the amount it sends with it.
    pub clients: &'static [(usize, u32)],
    /// How often each client sends its request.
    pub sends: u8,
    /// How many things go wrong, in any order and at any moment.
    pub faults: u8,
    pub max_attempts: u32,
    pub downstream: Downstream,
    /// Whether the downstream may say "not now", which proves that this attempt did nothing.
    pub declines: bool,
    /// What the tool says of its interrupted attempts.
    pub interrupted: Interrupted,
    /// Whether somebody settles held calls by asking the downstream.
    pub settles: bool,
    /// The guard that is taken away, to show that the laws need it.
    pub without: Option<Guard>,
}

/// Who works on one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// One process has it, with all the workers; when it starts, whoever had it before is gone.
    One,
    /// Each worker is a process of its own; only a lease tells that one is gone.
    Many,
}

/// What the other side makes of the effect id that it is given as an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downstream {
    /// Applies each id once, forever.
    Honours,
    /// Applies each id once, until it forgets (keys are often kept for a day).
    Forgets,
    /// Does not look at it.
    Ignores,
}

impl Setup {
    /// The smallest world: two workers of one server, two clients that send one request each, one thing goes wrong.
    pub const fn small(name: &'static str) -> Self {
        Self {
            name,
            servers: Servers::One,
            workers: 2,
            clients: &[(1, 7), (1, 7)],
            sends: 1,
            faults: 1,
            max_attempts: 2,
            downstream: Downstream::Honours,
            declines: false,
            interrupted: Interrupted::Replay,
            settles: false,
            without: None,
        }
    }

    pub fn lacks(&self, guard: Guard) -> bool {
        self.without == Some(guard)
    }
}

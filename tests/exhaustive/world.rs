//! A state of the whole system: what is stored, who does what, what is on its way, what has really happened.

use callonce::domain::call::Call;
use callonce::domain::id::EffectId;

use crate::law::Law;
use crate::setup::Setup;

/// Everything there is. Times are no part of it: any amount of time may pass between two steps, so a lease is either over
/// or it is not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// The database: the calls in the order in which their keys were taken.
    pub calls: Vec<Stored>,
    /// Whether the one server runs; with many, always.
    pub up: bool,
    pub workers: Vec<Worker>,
    /// Who looks for leases that are over.
    pub sweeper: Option<Sweep>,
    pub clients: Vec<Client>,
    /// Requests to the downstream that have not arrived.
    pub under_way: Vec<Sent>,
    /// The effect ids that the downstream knows.
    pub known: Vec<EffectId>,
    /// How often the effect that a key stands for has really happened, by key.
    pub ledger: Vec<u8>,
    /// How many more things may go wrong.
    pub faults_left: u8,
    /// The law that the last step broke, where a state alone does not show it. Nothing happens after it.
    pub broken: Option<Law>,
}

/// A call as it is stored, and what an onlooker who forgets nothing knows of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stored {
    pub now: Seen,
    /// Whether time has run past the lease of the attempt that runs.
    pub lease_over: bool,
    /// Rows of `effects`.
    pub effect_rows: u8,
    /// How many claims there were.
    pub claims: u32,
    /// What it was when it became final.
    pub final_as: Option<Call>,
}

/// A call as somebody has read it, which may be long ago.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Seen {
    pub version: u64,
    pub call: Call,
}

impl Seen {
    pub const ABSENT: Self = Self { version: 0, call: Call::Absent };
}

/// Who runs calls, one at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Worker {
    /// Its process died.
    Dead,
    Idle,
    /// Has read a pending call and wants to run it.
    Claiming {
        call: usize,
        seen: Seen,
    },
    /// Has the claim; asks the downstream, or has asked.
    Running {
        call: usize,
        claimed: Seen,
        asked: bool,
        lease_over: bool,
    },
    /// Knows how it ended, and wants to record that.
    Reporting {
        call: usize,
        attempt: u32,
        report: Report,
        seen: Seen,
        lease_over: bool,
    },
}

impl Worker {
    /// The call and the number of the attempt that it believes to have.
    pub fn attempt(&self) -> Option<(usize, u32)> {
        match self {
            Self::Dead | Self::Idle | Self::Claiming { .. } => None,
            Self::Running { call, claimed, .. } => Some((*call, claimed.call.attempts())),
            Self::Reporting { call, attempt, .. } => Some((*call, *attempt)),
        }
    }

    /// Whether it has an attempt and its lease is not over.
    pub fn within_lease(&self) -> bool {
        match self {
            Self::Dead | Self::Idle | Self::Claiming { .. } => false,
            Self::Running { lease_over, .. } | Self::Reporting { lease_over, .. } => !lease_over,
        }
    }

    /// This worker once its report is recorded, which ends its lease, and it has not heard of that.
    #[must_use]
    pub fn unheard(mut self) -> Self {
        if let Self::Reporting { lease_over, .. } = &mut self {
            *lease_over = true;
        }
        self
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Report {
    /// The downstream says that it happened.
    Happened,
    /// The downstream says "not now".
    Declined,
    /// No answer came in time.
    Unknown,
}

/// Giving up an attempt whose lease is over, from a view that may be old.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sweep {
    pub call: usize,
    pub attempt: u32,
    pub seen: Seen,
}

/// Who sends a request, again and again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Client {
    pub sent: u8,
    /// Its request while the server carries it out: the call it led to so far, and as what it was read.
    pub carried_out: Option<(Option<usize>, Seen)>,
    /// The call that it was told of first.
    pub told: Option<usize>,
}

/// A request to the downstream.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sent {
    pub call: usize,
    pub attempt: u32,
    pub effect_id: EffectId,
}

impl World {
    /// Before anything happened.
    pub fn new(setup: &Setup) -> Self {
        let client = Client { sent: 0, carried_out: None, told: None };
        let keys = setup.clients.iter().map(|(key, _)| *key).max().unwrap_or_default();
        Self {
            calls: vec![],
            up: true,
            workers: vec![Worker::Idle; setup.workers],
            sweeper: None,
            clients: vec![client; setup.clients.len()],
            under_way: vec![],
            known: vec![],
            ledger: vec![0; keys],
            faults_left: setup.faults,
            broken: None,
        }
    }

    /// Whether a process lives that could do something.
    pub fn alive(&self) -> bool {
        self.up && self.workers.iter().any(|worker| *worker != Worker::Dead)
    }

    /// The place of a call's key in the ledger.
    pub fn ledger_of(&self, call: usize) -> usize {
        let key = self.calls[call].now.call.request().map(|request| request.key.as_str());
        key.and_then(|key| key[1..].parse::<usize>().ok()).expect("the setup's keys are k1, k2, …") - 1
    }
}

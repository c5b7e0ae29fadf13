//! The load: clients that ask, lose answers, ask again, and write down what they asked and what they were told.
//!
//! A process of its own, which speaks HTTP by hand and shares no code with the server or its careful client.

mod choice;
mod client;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use self::choice::{Knowledge, base};
use self::client::Client;
pub use self::client::ask_once;
use crate::history::{Ask, Line, Told, Writer};
use crate::process::{Process, role, say, told};

const ADDRESS: &str = "CALLONCE_SURVIVAL_ADDRESS";
const HISTORY: &str = "CALLONCE_SURVIVAL_HISTORY";
const LOAD_SEED: &str = "CALLONCE_SURVIVAL_LOAD_SEED";
/// How many clients ask at once: enough to meet on keys, and to have something under way whenever the server dies.
const CLIENTS: u64 = 8;
/// How often a look that is to show a call's end is taken again, a minute each.
const LOOKS: usize = 3;
/// Seconds that such a look waits.
const LONG: u64 = 60;

/// How far the load has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Complete answers that acknowledge a call.
    pub acknowledged: u64,
    /// Requests that were sent and had no complete answer: each was under way when something struck.
    pub cut: u64,
}

/// The process, as the one who started it sees it.
pub struct Load(Process);

impl Load {
    pub fn start(address: SocketAddr, history: &Path, seed: u64) -> Self {
        let mut command = role("load");
        command.env(ADDRESS, address.to_string()).env(HISTORY, history).env(LOAD_SEED, seed.to_string());
        Self(Process::start("the load", command))
    }

    /// Waits until so many calls are acknowledged in all.
    pub fn reaches(&mut self, acknowledged: u64) -> Progress {
        self.0.order(&format!("reach {acknowledged}"));
        self.0.hear_from(&format!("{acknowledged} are acknowledged"), |words| progress(words, "reached "))
    }

    /// Stops asking for anything new, settles every request whose outcome is unknown, and takes the last looks.
    pub fn settles(&mut self) -> Progress {
        self.0.order("settle");
        let settled = self.0.hear_from("everything is settled", |words| progress(words, "settled "));
        assert!(self.0.ends().success(), "the load failed: {:?}", self.0.last_words());
        settled
    }
}

fn progress(words: &str, prefix: &str) -> Option<Progress> {
    let (acknowledged, cut) = words.strip_prefix(prefix)?.split_once(' ')?;
    Some(Progress { acknowledged: acknowledged.parse().ok()?, cut: cut.parse().ok()? })
}

/// What all clients share.
pub struct Shared {
    pub history: Writer,
    pub knowledge: Knowledge,
    progress: Mutex<Progress>,
    moved: Condvar,
    settling: AtomicBool,
}

impl Shared {
    /// Counts how a request ended.
    pub fn counts(&self, told: Option<&Told>) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        match told {
            None => progress.cut += 1,
            Some(Told { call: Some(_), status: 200..300, .. }) => progress.acknowledged += 1,
            Some(_) => {}
        }
        self.moved.notify_all();
    }

    fn reaches(&self, acknowledged: u64) -> Progress {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let reached = self.moved.wait_while(progress, |progress| progress.acknowledged < acknowledged);
        *reached.unwrap_or_else(PoisonError::into_inner)
    }

    fn says(&self, what: &str) {
        let Progress { acknowledged, cut } = self.reaches(0);
        say(&format!("{what} {acknowledged} {cut}"));
    }
}

/// The role: asks until it is told to settle.
pub fn loads() {
    let address: SocketAddr = told(ADDRESS).parse().expect("the server has an address");
    let seed = told(LOAD_SEED).parse().expect("a seed is a number");
    let shared = Shared {
        history: Writer::create(Path::new(&told(HISTORY))).expect("the history is new"),
        knowledge: Knowledge::new(seed),
        progress: Mutex::default(),
        moved: Condvar::new(),
        settling: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (1..=CLIENTS)
            .map(|number| {
                let (shared, client) = (&shared, Client::new(address));
                scope.spawn(move || asks(client, number, shared))
            })
            .collect();
        let mut orders = std::io::stdin().lines().map_while(Result::ok);
        loop {
            // Nobody is left to give orders.
            let Some(order) = orders.next() else { std::process::exit(1) };
            if let Some(acknowledged) = order.strip_prefix("reach ") {
                shared.reaches(acknowledged.parse().expect("a number of answers"));
                shared.says("reached");
            } else if order == "settle" {
                break;
            }
        }
        shared.settling.store(true, Ordering::SeqCst);
        for client in clients {
            client.join().expect("no client panics");
        }
        settle(address, &shared);
    });
    shared.says("settled");
    std::process::exit(0);
}

/// One client: asks, and asks again what it does not know the outcome of.
fn asks(mut client: Client, number: u64, shared: &Shared) {
    let mut chooser = shared.knowledge.chooser(number);
    while !shared.settling.load(Ordering::SeqCst) {
        let ask = shared.knowledge.choose(&mut chooser);
        let told = client.performs(&ask, shared);
        chooser.learns(&ask, told.is_some());
    }
}

/// Looks at every key until its call has ended, then at all of them once more.
fn settle(address: SocketAddr, shared: &Shared) {
    shared_out(address, shared, |client, number, key| {
        for _ in 0..LOOKS {
            let look = Ask::GetKey { key: key.to_owned(), wait: LONG };
            match client.performs(&look, shared) {
                Some(Told { call: Some(call), .. }) if call.has_ended() => break,
                Some(Told { status: 404, .. }) => {
                    let payload = base(shared.knowledge.seed(), number);
                    client.performs(&Ask::Post { key: key.to_owned(), payload, wait: LONG }, shared);
                }
                _ => {}
            }
        }
    });
    shared.history.writes(&Line::Settled);
    shared_out(address, shared, |client, _, key| {
        let told = client.performs(&Ask::GetKey { key: key.to_owned(), wait: 0 }, shared);
        if let Some(Told { call: Some(call), .. }) = told {
            client.performs(&Ask::GetId { key: key.to_owned(), id: call.id }, shared);
        }
    });
    Client::new(address).performs(&Ask::Stats, shared);
}

/// Does something with each key that was ever sent, by all clients.
fn shared_out(address: SocketAddr, shared: &Shared, act: impl Fn(&mut Client, u64, &str) + Sync) {
    let keys = shared.knowledge.keys();
    std::thread::scope(|scope| {
        for first in 0..CLIENTS {
            let (act, keys) = (&act, &keys);
            scope.spawn(move || {
                let mut client = Client::new(address);
                for number in (first..keys.len() as u64).step_by(CLIENTS as usize) {
                    act(&mut client, number, &keys[number as usize]);
                }
            });
        }
    });
}

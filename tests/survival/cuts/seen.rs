//! What has been read after a crash is there after a power cut, told step by step: the one reason for the checkpoint at start.
//!
//! A server is killed when the outcome of a call is written to the WAL and not synced. The next one finds it in the memory of the
//! operating system, and shows it. If it has not made it durable first, a power cut takes it back.

use std::net::SocketAddr;
use std::path::Path;

use rustix::process::Signal;

use crate::check::{self, Finding, Rule};
use crate::history::{Ask, Call, Line, Payload, Told};
use crate::ledger::{self, Ledger};
use crate::load::ask_once;
use crate::power::Disk;
use crate::server::{self, Server};
use crate::shim_library::library;
use crate::stage;

/// Calls, each with a kill and a cut of its own: the ledger refuses some of them.
const CALLS: u64 = 6;
/// Of the commits of a call (accepted, claimed, ended), the one that is written and not synced.
const UNSYNCED: &str = "sync -wal 3";
/// Seconds that a look waits for the end of a call.
const LONG: u64 = 60;

/// A client that asks one thing after the other, and writes down what it is told.
struct Client {
    address: SocketAddr,
    history: Vec<Line>,
}

impl Client {
    fn asks(&mut self, ask: Ask) -> Option<Call> {
        let op = self.history.len() as u64;
        self.history.push(Line::Sent { op, ask: ask.clone() });
        match ask_once(self.address, &ask) {
            Ok(told) => {
                let Told { call, .. } = told.clone();
                self.history.push(Line::Answered { op, told: Box::new(told) });
                call
            }
            Err(error) => {
                self.history.push(Line::Unknown { op, why: error.to_string() });
                None
            }
        }
    }

    fn looks(&mut self, key: &str, wait: u64) -> Call {
        let call = self.asks(Ask::GetKey { key: key.to_owned(), wait });
        call.unwrap_or_else(|| panic!("{key} was accepted: {:?}", self.history.last()))
    }
}

/// The story of some calls, with servers that have this weakness after the crash; what the checker makes of it, and of how many
/// calls the end was seen before the cut.
fn story(disk: &Disk, weakness: &str) -> (Vec<Finding>, usize) {
    let witnesses = tempfile::tempdir().expect("a temporary folder can be made");
    let ledger = Ledger::start(&stage::book(witnesses.path()), 1);
    let address = stage::own_address();
    let database = disk.folder().join("calls.db");
    let start = |environment: &[(&str, &Path)]| {
        let mut command = server::command(&database, address, ledger.address);
        command.env("CALLONCE_ACCEPT_DATA_LOSS", "true").envs(environment.iter().copied());
        let mut server = Server::start(command);
        server.listens();
        server
    };
    let (mut client, mut seen) = (Client { address, history: Vec::new() }, 0);
    let keys: Vec<_> = (0..CALLS).map(|number| format!("seen-{number}")).collect();
    for key in &keys {
        let armed = witnesses.path().join(key);
        let mut dying = start(&[
            ("LD_PRELOAD", library()),
            ("CALLONCE_SHIM_FAULT", Path::new(UNSYNCED)),
            ("CALLONCE_SHIM_ARM", &armed),
            ("CALLONCE_SHIM_KILL", Path::new("yes")),
        ]);
        std::fs::write(&armed, "").expect("the folder is ours");
        let args = format!(r#"{{"amount":1,"key":"{key}"}}"#);
        let payload = Payload { tool: "ledger.keyed".into(), args };
        client.asks(Ask::Post { key: key.clone(), payload, wait: 0 });
        let status = dying.process.ends();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(Signal::KILL.as_raw()), "{:?}", dying.process.last_words());

        let mut next = start(&[("CALLONCE_WEAKNESS", Path::new(weakness))]);
        seen += usize::from(client.looks(key, 0).is_final);
        let ready = disk.ready();
        assert!(next.process.signal(Signal::KILL), "{:?}", next.process.last_words());
        ready.cut();
        next.process.ends();
        assert!(disk.restores(), "what was not synced has survived the cut");

        let mut last = start(&[]);
        client.looks(key, LONG);
        last.stop();
    }
    let mut last = start(&[]);
    client.history.push(Line::Settled);
    for key in &keys {
        let call = client.looks(key, 0);
        client.asks(Ask::GetId { key: key.clone(), id: call.id });
    }
    client.asks(Ask::Stats);
    last.stop();
    (check::check(&client.history, &ledger::read(&stage::book(witnesses.path()))), seen)
}

#[test]
fn what_was_read_after_a_crash_is_there_after_a_cut() {
    let Some(disk) = Disk::mount() else { return };
    let (findings, seen) = story(&disk, "none");
    assert!(findings.is_empty(), "{}", check::tell(&findings));
    assert!(seen > 0, "no outcome was seen before a cut");
}

#[test]
fn without_the_checkpoint_at_start_the_checker_sees_it_taken_back() {
    let Some(disk) = Disk::mount() else { return };
    let (findings, seen) = story(&disk, "no-checkpoint-at-start");
    assert!(seen > 0, "no outcome was seen before a cut");
    let lost = findings.iter().filter(|finding| [Rule::Lost, Rule::TakenBack].contains(&finding.rule));
    assert!(lost.count() >= seen, "the checker has noticed too little: {}", check::tell(&findings));
}

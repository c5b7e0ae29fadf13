//! The faulty proxy as a process, and the evidence that it writes.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::Signal;
use serde_json::Value;

use super::client::Client;
use super::patience::{PATIENCE, until};
use super::server::{Exit, PROGRAM, Process};

/// A proxy that listens. Killed when this is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    process: Process,
    evidence: Receiver<Value>,
}

impl Proxy {
    /// Before this address, on a free port, with further arguments.
    pub fn before(upstream: SocketAddr, args: &[&str]) -> Self {
        Self::writing_to(Stdio::piped(), upstream, args)
    }

    /// The same with another stdout; its evidence is seen here only if that is a pipe of ours.
    pub fn writing_to(stdout: Stdio, upstream: SocketAddr, args: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.env_clear().args(["chaos", "proxy", "--listen", "127.0.0.1:0", "--upstream"]);
        command.arg(upstream.to_string()).args(args);
        let mut process = Process::spawn(command, stdout);
        let stdout = process.child.stdout.take().map(BufReader::new);
        let (tell, evidence) = channel();
        std::thread::spawn(move || {
            for line in stdout.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}"));
                let _ = tell.send(line);
            }
        });
        let address = until("the proxy listens", || {
            assert!(!process.has_ended(), "the proxy did not start: {:?}", process.stderr.words());
            let words = process.stderr.words();
            words.iter().find_map(|line| {
                let (_, rest) = line.split_once(" on http://")?;
                rest.split(',').next()?.parse().ok()
            })
        });
        Self { address, process, evidence }
    }

    pub fn client(&self) -> Client {
        Client::of(self.address)
    }

    /// The next line of evidence.
    pub fn evidence(&self) -> Value {
        self.evidence.recv_timeout(PATIENCE).expect("the proxy tells what it did")
    }

    /// The next so many lines, by the number of the request.
    pub fn evidence_of(&self, requests: usize) -> Vec<Value> {
        let mut lines: Vec<_> = (0..requests).map(|_| self.evidence()).collect();
        lines.sort_by_key(|line| line["request"].as_u64());
        lines
    }

    /// What it has said so far, line by line.
    pub fn words(&self) -> Vec<String> {
        self.process.stderr.words()
    }

    /// Waits until it ends by itself.
    pub fn exit(mut self) -> Exit {
        self.process.exit()
    }

    /// Asks it to stop; how it ended, and the evidence that nobody has taken yet.
    pub fn stop(mut self) -> (Exit, Vec<Value>) {
        self.process.signal(Signal::TERM);
        let exit = self.process.exit();
        (exit, self.evidence.iter().collect())
    }
}

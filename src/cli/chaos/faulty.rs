//! The faulty proxy before a scenario's server, in this process.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::stage::Stage;
use crate::cli::exit::{Exit, Failure};
use crate::engine::clock::Stopwatch;
use crate::http::chaos::evidence::{Evidence, Witness};
use crate::http::chaos::mode::Mode;
use crate::http::chaos::pick::{Only, Which};
use crate::http::chaos::upstream::Upstream;
use crate::http::chaos::{Settings, serve};
use crate::http::client::Client;

/// A proxy that listens, until it is ended or dropped.
pub(super) struct Faulty {
    address: String,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    evidence: UnboundedReceiver<Evidence>,
}

struct Notes {
    since: Stopwatch,
    tell: UnboundedSender<Evidence>,
}

impl Witness for Notes {
    fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    fn tell(&self, evidence: Evidence) {
        // Nobody listens any more once a scenario was broken off.
        let _ = self.tell.send(evidence);
    }
}

impl Faulty {
    /// Before the server at this address, on a free port.
    pub(super) async fn before(upstream: &str, mode: Mode, which: Which) -> Result<Self, Failure> {
        let upstream = Upstream::parse(upstream).map_err(|problem| Failure::new(Exit::Config, problem))?;
        let no_port = |error| Failure::new(Exit::Config, format!("no port for a proxy: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(no_port)?;
        let address = listener.local_addr().map_err(no_port)?.to_string();
        let (tell, evidence) = unbounded_channel();
        let stop = CancellationToken::new();
        let settings = Settings { upstream, mode, which, only: Only::default() };
        let notes = Arc::new(Notes { since: Stopwatch::start(), tell });
        let serving = tokio::spawn(serve(listener, settings, notes, stop.clone()));
        Ok(Self { address, stop, serving, evidence })
    }

    pub(super) fn client(&self) -> Result<Client, Failure> {
        Stage::client(&self.address)
    }

    /// Ends it, and hands over all that it saw, by the number of the request.
    pub(super) async fn end(mut self) -> Vec<Evidence> {
        self.stop.cancel();
        // However it ended, what it saw counts.
        let _ = self.serving.await;
        let mut seen = Vec::new();
        while let Ok(evidence) = self.evidence.try_recv() {
            seen.push(evidence);
        }
        seen.sort_by_key(|evidence| evidence.request);
        seen
    }
}

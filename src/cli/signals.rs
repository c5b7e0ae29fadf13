//! The signals that ask a command to end.

use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::{Exit, Failure};

/// What asks a command to end that cleans up after itself; the last two come from a terminal, where
/// somebody presses Ctrl-\ or that is closed.
pub(super) const ENDING: [SignalKind; 4] =
    [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::hangup()];

/// Signals that no longer end the process, but are waited for.
pub(super) struct Signals(Vec<Signal>);

impl Signals {
    /// Begins to catch signals of these kinds.
    pub(super) fn catch(kinds: &[SignalKind]) -> Result<Self, Failure> {
        let caught: Result<_, _> = kinds.iter().map(|kind| signal(*kind)).collect();
        let uncaught = |error| Failure::new(Exit::Config, format!("signals cannot be caught: {error}"));
        caught.map(Self).map_err(uncaught)
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        let Self(signals) = self;
        std::future::poll_fn(|context| {
            // Of two that came at once, the second is left for the next wait.
            let came = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if came { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

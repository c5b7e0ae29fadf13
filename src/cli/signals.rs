//! Signals that end a command early, which then puts away what it made.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals by which people and systems end a command.
pub(super) struct Endings([io::Result<Signal>; 3]);

impl Endings {
    /// Begins to catch them.
    pub(super) fn catch() -> Self {
        Self([SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal))
    }

    /// Waits for the first one; one that cannot be caught ends the process as ever.
    pub(super) async fn first(self) {
        let mut signals = self.0.map(Result::ok);
        std::future::poll_fn(|context| {
            let came = |signal: &mut Signal| signal.poll_recv(context).is_ready();
            match signals.iter_mut().flatten().any(came) {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        })
        .await;
    }
}

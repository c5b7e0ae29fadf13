//! Lets connections in, turns them away when there are too many, and lets them finish when serving ends.
//!
//! Above [`Limits::max_connections`] a client is not left in the dark: its connection is accepted, its request is
//! answered with 503 `overloaded` and `Retry-After`, and the connection is closed. Only above
//! [`Limits::max_refusals`] of those at one time does it wait in the listen queue.

use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::connection;
use super::error::{ApiError, Kind};
use super::limits::Limits;

/// Pause after an `accept` that failed for want of something, such as a file descriptor: long enough not to burn a
/// core while the want lasts, short enough that clients in the queue hardly notice once it is over.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were open when it was to end, and ended by themselves.
    pub finished: usize,
    /// Connections that were cut, because the time to drain was over.
    pub cut: usize,
}

/// Serves `app` on `listener` until `shutdown` is cancelled; then accepts no more, lets each connection finish the
/// request it is at for at most `drain`, and cuts the rest.
///
/// A panic while serving a connection ends that connection only, and a failing `accept` is tried again.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    limits: Limits,
    shutdown: CancellationToken,
    drain: Duration,
) -> Drained {
    let turn_away = Router::new().fallback(|| async { overloaded() });
    let mut open = JoinSet::new();
    let mut turned_away = JoinSet::new();
    let mut pause = pin!(sleep(Duration::ZERO));
    let mut failures = Failures::default();
    loop {
        let room_to_refuse = turned_away.len() < limits.max_refusals;
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(ended) = open.join_next() => note_panic(ended),
            Some(ended) = turned_away.join_next() => note_panic(ended),
            () = &mut pause, if failures.pausing => failures.pausing = false,
            accepted = listener.accept(), if room_to_refuse && !failures.pausing => match accepted {
                Err(error) => {
                    if failures.must_pause(&error) {
                        pause.set(sleep(ACCEPT_PAUSE));
                    }
                }
                Ok((stream, _)) => {
                    failures.over();
                    without_delay(&stream);
                    while let Some(ended) = open.try_join_next() {
                        note_panic(ended);
                    }
                    let stop = shutdown.child_token();
                    if open.len() < limits.max_connections {
                        open.spawn(connection::serve(stream, app.clone(), limits, stop));
                    } else {
                        let limits = limits.of_a_refusal();
                        turned_away.spawn(connection::serve(stream, turn_away.clone(), limits, stop));
                    }
                }
            },
        }
    }
    drop(listener);
    end(open, drain).await
}

/// Waits for the connections to end, at most `drain`.
async fn end(mut open: JoinSet<()>, drain: Duration) -> Drained {
    let mut finished = 0;
    let all = async {
        while let Some(ended) = open.join_next().await {
            note_panic(ended);
            finished += 1;
        }
    };
    let in_time = timeout(drain, all).await.is_ok();
    let cut = open.len();
    if !in_time {
        tracing::warn!(
            cut,
            ?drain,
            "connections were cut: their requests took longer than the time to drain"
        );
    }
    open.shutdown().await;
    Drained { finished, cut }
}

/// Answers are written whole, so the kernel has nothing to gain from waiting for more.
fn without_delay(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection was gone before it was served");
    }
}

fn note_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended in a panic; the others go on");
    }
}

fn overloaded() -> Response<Body> {
    let detail = "the server has as many connections as it takes; nothing was read or written: send the same request again";
    ApiError::new(Kind::Overloaded, detail).closing().into_response()
}

/// A run of failed accepts: it is logged once when it starts and once when it is over.
#[derive(Debug, Default)]
struct Failures {
    count: u64,
    pausing: bool,
}

impl Failures {
    /// False if the error was about one client, which is gone: the next one may be there.
    fn must_pause(&mut self, error: &io::Error) -> bool {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
            return false;
        }
        if self.count == 0 {
            tracing::warn!(%error, "cannot accept connections; trying again every {ACCEPT_PAUSE:?}");
        }
        self.count += 1;
        self.pausing = true;
        true
    }

    fn over(&mut self) {
        if self.count > 0 {
            tracing::info!(failed = self.count, "accepting connections again");
            self.count = 0;
        }
    }
}

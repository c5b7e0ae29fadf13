//! The life of one connection, from its first byte to its last: HTTP/1.1 by hyper, patience by us.
//!
//! hyper has one timer, for the next head, which does not tell a client that pauses from one that trickles. So it is
//! off, and the task of the connection keeps one timer of its own: `socket` and `service` report each step of an
//! exchange to `phase`, and whenever the step has changed the timer is set to what the new one may take.
mod phase;
mod service;
mod socket;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

use super::limits::Limits;
use phase::{Phase, Progress};
use service::Service;
use socket::Socket;

/// The smallest read buffer hyper accepts, in bytes.
const LEAST_BUFFER_BYTES: usize = 8192;

/// Serves the requests of one client until it goes, takes too long, or `stop` was called and its current request is
/// answered.
pub(super) async fn serve(stream: TcpStream, app: Router, limits: Limits, stop: CancellationToken) {
    if speaks(&stream, &limits, &stop).await {
        // Boxed, so that the task of a silent connection is small.
        match Box::pin(converse(stream, app, limits, stop)).await {
            Ok(()) => {}
            Err(End::TimedOut(phase)) => tracing::debug!(?phase, "a client took too long"),
            Err(End::Failed(error)) => tracing::debug!(%error, "a connection failed"),
        }
    }
}

/// Waits for the first byte and leaves it where it is. Until then nothing is allocated for the connection, so idle ones
/// are cheap to keep. Looking is the only proof: a new socket may be reported as readable though it is empty.
async fn speaks(stream: &TcpStream, limits: &Limits, stop: &CancellationToken) -> bool {
    let mut byte = [0];
    tokio::select! {
        biased;
        seen = stream.peek(&mut byte) => matches!(seen, Ok(1..)),
        () = stop.cancelled() => false,
        () = sleep(limits.idle_timeout) => false,
    }
}

/// Why a connection did not end as HTTP says.
enum End {
    TimedOut(Phase),
    Failed(hyper::Error),
}

async fn converse(
    stream: TcpStream,
    app: Router,
    limits: Limits,
    stop: CancellationToken,
) -> Result<(), End> {
    let progress = Arc::new(Progress::default());
    let socket = Socket::new(stream, Arc::clone(&progress), limits.linger_bytes);
    let service = Service { app, progress: Arc::clone(&progress) };
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_header_size(limits.max_header_bytes)
        .max_buf_size(limits.max_header_bytes.max(LEAST_BUFFER_BYTES))
        .serve_connection(TokioIo::new(socket), service);
    let mut connection = pin!(connection);
    let mut stopped = pin!(stop.cancelled());
    let mut told_to_stop = false;
    let mut timer = pin!(None::<Sleep>);
    let mut timed = None;
    poll_fn(|cx| {
        // What has arrived is looked at before anything ends: a request that is already here is served.
        if let Poll::Ready(end) = connection.as_mut().poll(cx) {
            return Poll::Ready(end.map_err(End::Failed));
        }
        if !told_to_stop && stopped.as_mut().poll(cx).is_ready() {
            told_to_stop = true;
            let half_a_head = progress.stop() == Phase::Head;
            // hyper would close a used connection on half a head. It closes after the answer, which says so.
            if !half_a_head {
                connection.as_mut().graceful_shutdown();
            }
            if let Poll::Ready(end) = connection.as_mut().poll(cx) {
                return Poll::Ready(end.map_err(End::Failed));
            }
        }
        let (phase, number) = progress.step();
        if timed != Some(number) {
            timed = Some(number);
            timer.set(phase.budget(&limits).map(sleep));
        }
        match timer.as_mut().as_pin_mut().map(|timer| timer.poll(cx)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(End::TimedOut(phase))),
            Some(Poll::Pending) | None => Poll::Pending,
        }
    })
    .await
}

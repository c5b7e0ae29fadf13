//! The client's connection, which can be cut in ways that HTTP does not know.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// How a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Closed: the client reads what was sent, and then the end.
    Close,
    /// Reset (TCP RST): the client's next read or write fails.
    Reset,
}

/// Cuts the connection it belongs to. Whoever drives the connection waits for [`Cutter::cut`] and drops it then.
#[derive(Debug, Clone, Default)]
pub(super) struct Cutter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    is_cut: Notify,
}

#[derive(Debug, Default)]
struct State {
    at_flush: bool,
    reset: bool,
}

impl Cutter {
    /// Cuts it here and now.
    pub(super) fn now(&self, how: How) {
        self.state(|state| state.reset = how == How::Reset);
        self.0.is_cut.notify_one();
    }

    /// Closes it once everything that was written so far has been given to the kernel.
    pub(super) fn close_when_flushed(&self) {
        self.state(|state| state.at_flush = true);
    }

    /// Resolves when the connection is to be dropped.
    pub(super) async fn cut(&self) {
        self.0.is_cut.notified().await;
    }

    fn flushed(&self) {
        if self.state(|state| state.at_flush) {
            self.0.is_cut.notify_one();
        }
    }

    fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A client's stream that is cut as its [`Cutter`] says.
pub(super) struct Socket {
    stream: TcpStream,
    cutter: Cutter,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, cutter: Cutter) -> Self {
        Self { stream, cutter }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.cutter.state(|state| state.reset) {
            // Closing a socket that lingers for no time is what makes the kernel send RST instead of FIN. If the client
            // has gone, there is nobody to reset.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when everything buffered above has been written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.cutter.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

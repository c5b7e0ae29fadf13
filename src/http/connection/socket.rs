//! The socket of one connection: reports what moves, and is closed so that the last answer can be read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::phase::Progress;

/// How much is read at one time of what is thrown away.
const DISCARD_BYTES: usize = 16 * 1024;

/// A stream that tells its connection what it sees.
pub(super) struct Socket {
    stream: TcpStream,
    progress: Arc<Progress>,
    end: End,
}

/// How far closing has come.
enum End {
    Open { linger_bytes: usize },
    Lingering { bytes_left: usize },
}

impl Socket {
    /// At its end it reads at most `linger_bytes` of what the client still sends.
    pub(super) fn new(stream: TcpStream, progress: Arc<Progress>, linger_bytes: usize) -> Self {
        Self { stream, progress, end: End::Open { linger_bytes } }
    }

    fn wrote(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.progress.sent();
        }
        written
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, into);
        if into.filled().len() > before {
            self.progress.received();
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when everything buffered above has been written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.progress.flushed();
        Poll::Ready(Ok(()))
    }

    /// Says that no more will be sent; then, if the client may still be writing, reads until it has ended too, so that
    /// the kernel does not answer its bytes with a reset that overtakes our answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let End::Open { linger_bytes } = self.end {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            let bytes_left = if self.progress.closing() { linger_bytes } else { 0 };
            self.end = End::Lingering { bytes_left };
        }
        let mut bytes = [0; DISCARD_BYTES];
        while let End::Lingering { bytes_left: left @ 1.. } = self.end {
            let mut thrown_away = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut thrown_away))?;
            self.end = match thrown_away.filled().len() {
                0 => End::Lingering { bytes_left: 0 },
                read => End::Lingering { bytes_left: left.saturating_sub(read) },
            };
        }
        Poll::Ready(Ok(()))
    }
}

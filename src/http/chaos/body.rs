//! Bodies: what a client is given piece by piece, and what is held or thrown away.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::evidence::{Given, Record, Witness};
use super::socket::Cutter;

/// The largest body that is held in memory, in bytes: of a request that is sent twice, and of an answer of unknown length
/// that is to be cut in half. Sixteen times what callonce accepts; everything else is streamed.
pub const MAX_HELD_BYTES: usize = 16 * 1024 * 1024;

/// The body of an answer, which notes what of it the client was given.
pub(super) struct ToClient<W: Witness> {
    source: Source,
    /// How many bytes may still pass before the connection is cut, where it is to be cut.
    left: Option<usize>,
    cutter: Cutter,
    record: Arc<Record<W>>,
}

enum Source {
    Upstream(Incoming),
    Held(Full<Bytes>),
}

impl<W: Witness> ToClient<W> {
    /// All of what upstream answers.
    pub(super) fn whole(answer: Incoming, cutter: Cutter, record: Arc<Record<W>>) -> Self {
        Self { source: Source::Upstream(answer), left: None, cutter, record }
    }

    /// The first `bytes` of what upstream answers, and then the end of the connection.
    pub(super) fn cut_after(bytes: usize, answer: Incoming, cutter: Cutter, record: Arc<Record<W>>) -> Self {
        Self { source: Source::Upstream(answer), left: Some(bytes), cutter, record }
    }

    /// The first half of an answer that is already here, and then the end of the connection.
    pub(super) fn half_of(answer: Bytes, cutter: Cutter, record: Arc<Record<W>>) -> Self {
        let left = Some(answer.len() / 2);
        Self { source: Source::Held(Full::new(answer)), left, cutter, record }
    }

    /// Words of the proxy's own.
    pub(super) fn text(text: String, cutter: Cutter, record: Arc<Record<W>>) -> Self {
        Self { source: Source::Held(Full::new(text.into())), left: None, cutter, record }
    }

    /// Nothing more comes, though more was announced: the connection ends when the client has what there is. An error
    /// here would end it too, but before that.
    fn cut(&mut self) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // Asked again before the connection ends, it is still cut: an upstream that broke off has no more errors to tell.
        self.left = Some(0);
        self.record.gave(Given::Truncated);
        self.cutter.close_when_flushed();
        Poll::Pending
    }
}

impl<W: Witness> Body for ToClient<W> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == Some(0) {
            return self.cut();
        }
        let frame = match &mut self.source {
            Source::Upstream(answer) => ready!(Pin::new(answer).poll_frame(cx)),
            Source::Held(answer) => ready!(Pin::new(answer).poll_frame(cx)).map(|Ok(frame)| Ok(frame)),
        };
        match frame {
            None => {
                // A body that is shorter than the place where it was to be cut.
                if self.left.is_some() {
                    return self.cut();
                }
                self.record.gave(Given::Answer);
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                self.record.went_wrong(format!("upstream broke off its answer: {error}"));
                self.cut()
            }
            Some(Ok(frame)) => Poll::Ready(Some(Ok(match frame.into_data() {
                Ok(mut data) => {
                    if let Some(left) = &mut self.left {
                        data.truncate(*left);
                        *left -= data.len();
                    }
                    self.record.gave_bytes(data.len());
                    Frame::data(data)
                }
                Err(trailers) => trailers,
            }))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_none() && self.source.is_end_stream()
    }

    /// Not known where it is cut: what was announced in the head stands there.
    fn size_hint(&self) -> SizeHint {
        match (self.left, &self.source) {
            (Some(_), _) => SizeHint::default(),
            (None, Source::Upstream(answer)) => answer.size_hint(),
            (None, Source::Held(answer)) => answer.size_hint(),
        }
    }
}

impl Source {
    fn is_end_stream(&self) -> bool {
        match self {
            Self::Upstream(answer) => answer.is_end_stream(),
            Self::Held(answer) => answer.is_end_stream(),
        }
    }
}

impl<W: Witness> Drop for ToClient<W> {
    fn drop(&mut self) {
        // Nobody asks for more after a last piece that is known to be the last one.
        if self.is_end_stream() {
            self.record.gave(Given::Answer);
        }
        self.record.left();
    }
}

/// Reads a body to its end and forgets it. Whether it ends well makes no difference to anybody.
pub(super) async fn drain(mut body: Incoming) {
    while let Some(Ok(_)) = body.frame().await {}
}

/// The whole body.
///
/// # Errors
/// Why it cannot be held: it is too long, or ends too early.
pub(super) async fn hold(body: Incoming) -> Result<Bytes, NotHeld> {
    match Limited::new(body, MAX_HELD_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(NotHeld::TooLong),
        Err(error) => Err(NotHeld::Broken(error.to_string())),
    }
}

/// Why a body is not held.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotHeld {
    #[error("the body is longer than the {MAX_HELD_BYTES} bytes that are held to be sent twice")]
    TooLong,
    #[error("the body ended too early: {0}")]
    Broken(String),
}

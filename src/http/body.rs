//! Reads a request's body whole, within bounds of size, time and memory.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::limits::Limits;

/// Why a body was not taken. After the first three the client may still be sending: the answer should carry
/// `Connection: close`, and the connection goes on to read, for a while, what it throws away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// Longer than allowed, by its own word or by what came.
    #[error("the body is longer than the {limit} bytes that are allowed")]
    TooLong {
        /// In bytes.
        limit: usize,
    },
    /// Not all here in time.
    #[error("the body did not arrive within {limit:?}")]
    TooSlow {
        /// From the first look at it.
        limit: Duration,
    },
    /// Bodies that are still arriving hold all the memory they may.
    #[error("the server is reading too many large bodies at this moment")]
    Busy,
    /// The connection ended inside it, or its chunks are malformed.
    #[error("the body ended too early or is not framed as HTTP says")]
    Broken,
}

impl BodyError {
    /// The status that says so.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads bodies. One for a server: its readers share the memory for bodies that are still arriving.
#[derive(Debug)]
pub struct BodyReader {
    limits: Limits,
    memory: Semaphore,
}

impl BodyReader {
    /// With all its memory free.
    pub fn new(limits: Limits) -> Self {
        Self { limits, memory: Semaphore::new(limits.body_memory_bytes) }
    }

    /// The whole body. One that says it is too long is refused before a byte of it is read, so a client that sent
    /// `Expect: 100-continue` is never asked for it. A body that came in one piece is not copied.
    ///
    /// # Errors
    /// [`BodyError`]; nothing of the body is kept.
    pub async fn read(&self, body: Body) -> Result<Bytes, BodyError> {
        let limit = self.limits.max_body_bytes;
        if body.size_hint().lower() > limit as u64 {
            return Err(BodyError::TooLong { limit });
        }
        match timeout(self.limits.body_timeout, self.gather(body)).await {
            Ok(whole) => whole,
            Err(_) => Err(BodyError::TooSlow { limit: self.limits.body_timeout }),
        }
    }

    async fn gather(&self, mut body: Body) -> Result<Bytes, BodyError> {
        let limit = self.limits.max_body_bytes;
        let mut first = Bytes::new();
        let mut gathered = BytesMut::new();
        // Held until the body is whole: from then on it moves at the speed of the server, not of the client.
        let mut held: Option<SemaphorePermit<'_>> = None;
        while let Some(frame) = body.frame().await {
            // Trailers are allowed and ignored.
            let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
            let length = first.len().max(gathered.len()) + data.len();
            if length > limit {
                return Err(BodyError::TooLong { limit });
            }
            if length > self.limits.small_body_bytes {
                self.hold(&mut held, data.len())?;
            }
            if length == data.len() {
                first = data;
                continue;
            }
            if gathered.is_empty() {
                gathered.extend_from_slice(&std::mem::take(&mut first));
            }
            gathered.extend_from_slice(&data);
        }
        Ok(if gathered.is_empty() { first } else { gathered.freeze() })
    }

    /// Takes `bytes` more from the shared memory, or says that there is no more.
    fn hold<'a>(&'a self, held: &mut Option<SemaphorePermit<'a>>, bytes: usize) -> Result<(), BodyError> {
        let bytes = u32::try_from(bytes).map_err(|_| BodyError::Busy)?;
        let more = self.memory.try_acquire_many(bytes).map_err(|_| BodyError::Busy)?;
        match held {
            Some(held) => held.merge(more),
            None => *held = Some(more),
        }
        Ok(())
    }
}

//! One connection to the server under load: kept open, and opened again where it broke.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::template::Template;

/// The header that names a call.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A complete answer.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// There was no connection: nothing was sent.
    Unreachable,
    /// The connection broke before the answer was whole.
    Broken,
    /// The answer took too long.
    TimedOut,
}

impl Lost {
    /// As it is counted.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Broken => "connection_lost",
            Self::TimedOut => "timed_out",
        }
    }
}

/// A connection, while there is one.
pub(super) struct Connection<'a> {
    template: &'a Template,
    open: Option<SendRequest<Full<Bytes>>>,
}

impl<'a> Connection<'a> {
    pub(super) fn to(template: &'a Template) -> Self {
        Self { template, open: None }
    }

    /// Opens it, so that the first request does not have to wait for that.
    pub(super) async fn open(&mut self) -> Result<(), Lost> {
        let timeout = self.template.timeout;
        match tokio::time::timeout(timeout, async { self.ready().await.map(drop) }).await {
            Ok(done) => done,
            Err(_) => Err(Lost::Unreachable),
        }
    }

    /// Sends a request under this key and reads the whole answer. After a loss the connection is given up: what
    /// still comes in on it would be taken for the answer to the next request.
    pub(super) async fn exchange(&mut self, key: &HeaderValue) -> Result<Answer, Lost> {
        let timeout = self.template.timeout;
        let answer = match tokio::time::timeout(timeout, self.send(key)).await {
            Ok(answer) => answer,
            Err(_) => Err(Lost::TimedOut),
        };
        if answer.is_err() {
            self.open = None;
        }
        answer
    }

    async fn send(&mut self, key: &HeaderValue) -> Result<Answer, Lost> {
        let mut request = Request::new(Full::new(self.template.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.template.path.clone();
        *request.headers_mut() = self.template.headers.clone();
        request.headers_mut().insert(IDEMPOTENCY_KEY, key.clone());
        let response = self.ready().await?.send_request(request).await.map_err(|_| Lost::Broken)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|_| Lost::Broken)?.to_bytes();
        Ok(Answer { status: head.status, headers: head.headers, body })
    }

    /// The connection, once it can take a request: a server may have closed an idle one, which costs nothing to replace.
    async fn ready(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, Lost> {
        if let Some(open) = &mut self.open
            && open.ready().await.is_err()
        {
            self.open = None;
        }
        if self.open.is_none() {
            let stream = TcpStream::connect(self.template.address).await.map_err(|_| Lost::Unreachable)?;
            // A request is one small write: it must not wait to be joined by another one.
            stream.set_nodelay(true).map_err(|_| Lost::Unreachable)?;
            let (open, driver) =
                http1::handshake(TokioIo::new(stream)).await.map_err(|_| Lost::Unreachable)?;
            tokio::task::spawn_local(driver);
            self.open = Some(open);
        }
        self.open.as_mut().ok_or(Lost::Unreachable)
    }
}

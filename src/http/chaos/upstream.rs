//! The service behind the proxy: where it is, and one exchange with it.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    CONNECTION, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, PathAndQuery};
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long to try to connect: a service that is there accepts at once.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Where HTTP listens unless an address says otherwise.
const DEFAULT_PORT: u16 = 80;

/// What concerns one connection only, and is never passed on; so is whatever `Connection` names.
const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Where the service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    authority: Authority,
    host: HeaderValue,
}

/// The body of a request that is passed on: as it comes, or held because it is sent twice.
pub(super) type Outgoing = Either<Incoming, Full<Bytes>>;

impl Upstream {
    /// From `http://host:port` or `host:port`; without a port it is 80.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = match text.split_once("://") {
            None => text,
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => {
                return Err("TLS is not spoken here; put a local proxy that does in between".into());
            }
            Some((scheme, _)) => return Err(format!("{scheme} is not spoken here, only http")),
        };
        let host = rest.strip_suffix('/').unwrap_or(rest);
        if host.contains(['/', '?', '#', '@']) {
            return Err("it takes a host and a port and nothing more, as in 127.0.0.1:8081".into());
        }
        let authority: Authority =
            host.parse().map_err(|problem| format!("{problem}; expected something like 127.0.0.1:8081"))?;
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
        // What follows the host is a port or nothing; an empty or a huge one is not nothing.
        let port = host[authority.host().len()..].strip_prefix(':');
        if authority.host().is_empty() || port.is_some_and(|port| !is_port(port)) {
            return Err("it takes a host and a port from 1 to 65535, as in 127.0.0.1:8081".into());
        }
        let host = HeaderValue::from_str(host).map_err(|problem| problem.to_string())?;
        Ok(Self { authority, host })
    }

    /// A request to send, as often as its body can be had, on the last of its connection or before that.
    pub(super) fn request(&self, parts: &Parts, body: Outgoing, last: bool) -> Request<Outgoing> {
        let mut request = Request::new(body);
        *request.method_mut() = parts.method.clone();
        // A client that takes us for a forward proxy sends a whole address; the service is always the same.
        let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from(path);
        *request.version_mut() = Version::HTTP_11;
        let mut headers = parts.headers.clone();
        forget_the_hop(&mut headers);
        // Whoever was asked to go on, the proxy or the service, the proxy has said so already.
        headers.remove(EXPECT);
        // The name under which the service knows itself, not the one under which the client knows the proxy.
        headers.insert(HOST, self.host.clone());
        if last {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        *request.headers_mut() = headers;
        request
    }

    /// A new connection.
    ///
    /// # Errors
    /// Why there is none: nothing was sent.
    pub(super) async fn connect(&self) -> Result<Line, Unreachable> {
        let unreachable = |reason: String| Unreachable { upstream: self.authority.to_string(), reason };
        let host = self.authority.host();
        let port = self.authority.port_u16().unwrap_or(DEFAULT_PORT);
        let connecting = TcpStream::connect(format!("{host}:{port}"));
        let stream = timeout(CONNECT_TIMEOUT, connecting)
            .await
            .map_err(|_| unreachable(format!("no connection within {CONNECT_TIMEOUT:?}")))?
            .map_err(|error| unreachable(error.to_string()))?;
        // Whole messages are written at once; it would be the kernel's delay, not the one that was asked for.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::Builder::new()
            .preserve_header_case(false)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        // Ends with the last exchange on it, which also hears of what went wrong.
        tokio::spawn(connection);
        Ok(Line(sender))
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

/// A connection to the service.
pub(super) struct Line(SendRequest<Outgoing>);

impl Line {
    /// Waits until a request can be sent: the answer before it was read to its end, and upstream keeps the connection.
    ///
    /// # Errors
    /// `NotSent`.
    pub(super) async fn ready(&mut self) -> Result<(), Unanswered> {
        self.0.ready().await.map_err(|error| Unanswered::NotSent(reason(&error)))
    }

    /// Sends one request and returns the answer once its head is there.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, Unanswered> {
        match self.0.try_send_request(request).await {
            Ok(mut answer) => {
                forget_the_hop(answer.headers_mut());
                Ok(answer)
            }
            // It is given back if the connection ended before its first byte was written.
            Err(mut error) => Err(match error.take_message() {
                Some(_) => Unanswered::NotSent(reason(error.error())),
                None => Unanswered::Unknown(reason(error.error())),
            }),
        }
    }
}

fn reason(error: &hyper::Error) -> String {
    use std::error::Error;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A request without an answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    #[error("upstream closed the connection before the request was sent on it: {0}")]
    NotSent(String),
    #[error("upstream did not answer, so what became of the request there is unknown: {0}")]
    Unknown(String),
}

/// No connection to the service.
#[derive(Debug, thiserror::Error)]
#[error("upstream {upstream} cannot be reached: {reason}; nothing was sent")]
pub(super) struct Unreachable {
    upstream: String,
    reason: String,
}

/// Takes away what is said to one neighbour only (RFC 9110, 7.6.1).
fn forget_the_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_a_host_and_a_port() {
        for (text, shown) in [
            ("127.0.0.1:8081", "http://127.0.0.1:8081"),
            ("http://127.0.0.1:8081", "http://127.0.0.1:8081"),
            ("HTTP://localhost:1/", "http://localhost:1"),
            ("http://example.com", "http://example.com"),
            ("[::1]:65535", "http://[::1]:65535"),
        ] {
            assert_eq!(
                Upstream::parse(text).map(|upstream| upstream.to_string()),
                Ok(shown.into()),
                "{text}"
            );
        }
        for nonsense in [
            "",
            "http://",
            "https://example.com",
            "ftp://example.com",
            "http://host:80/v1",
            "host:80?x",
            "user@host:80",
            "host:0",
            "host:",
            "host:65536",
            "host:http",
            "a b:80",
            ":80",
        ] {
            assert!(Upstream::parse(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn what_concerns_one_hop_is_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Secret"),
            ("connection", "x-other"),
            ("x-secret", "1"),
            ("x-other", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("proxy-connection", "close"),
            ("idempotency-key", "demo-1"),
            ("x-stays", "1"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        forget_the_hop(&mut headers);
        let left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["idempotency-key", "x-stays"]);
    }
}

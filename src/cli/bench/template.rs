//! What every request has in common, made once: where it goes, its headers but for the key, its body.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use hyper::Uri;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use tokio::net::TcpStream;

use crate::cli::exit::{Exit, Failure};
use crate::http::client::shown_address;

/// A request that lacks only its key.
#[derive(Debug, Clone)]
pub(super) struct Template {
    pub(super) address: SocketAddr,
    pub(super) path: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// How long a connection and a whole answer may take together.
    pub(super) timeout: Duration,
}

impl Template {
    /// For calls of the server at `base`, which may let each answer wait for its call.
    pub(super) async fn of(
        base: &str,
        body: Bytes,
        timeout: Duration,
        wait: Option<Duration>,
    ) -> Result<Self, Failure> {
        let url = Url::parse(base);
        let base = shown_address(base);
        let invalid = |problem: String| Failure::new(Exit::Usage, format!("--base {base}: {problem}"));
        let unreachable = |reason: String| Failure::new(Exit::Unreachable, format!("{base}: {reason}"));
        let url = url.map_err(|problem| invalid(problem.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("a load is sent under no user; leave it out".into()));
        }
        let host = url.host_str().ok_or_else(|| invalid("it names no host".into()))?;
        let authority = format!("{host}:{}", url.port_or_known_default().unwrap_or(80));
        // A name is looked up once, for what is measured is the server. Of several addresses it may listen on one only.
        let addresses =
            tokio::net::lookup_host(&authority).await.map_err(|error| unreachable(error.to_string()))?;
        let probe = TcpStream::connect(&*addresses.collect::<Vec<_>>()).await;
        let address =
            probe.and_then(|stream| stream.peer_addr()).map_err(|error| unreachable(error.to_string()))?;
        let path = format!("{}/v1/tool-calls", url.path().trim_end_matches('/'));
        let path = path.parse().map_err(|_| invalid("its path cannot be sent".into()))?;
        let host = HeaderValue::from_str(&authority).map_err(|problem| invalid(problem.to_string()))?;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(wait) = wait {
            let prefer = HeaderValue::from_str(&format!("wait={}", wait.as_secs()));
            headers.insert(HeaderName::from_static("prefer"), prefer.expect("digits are visible"));
        }
        Ok(Self { address, path, headers, body, timeout: timeout + wait.unwrap_or_default() })
    }
}

//! One request and its answer: tells apart what was never sent from what may have arrived.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Url};

use super::address;

/// How long to try to connect. A server that is there accepts at once, and one whose first packet was lost after a second;
/// it is less than the usual time for an answer, so that a host that is not there is told from one that does not answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// A server's address, and the connections to it.
#[derive(Clone)]
pub struct Client {
    base: Url,
    http: reqwest::Client,
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Retry-After`, as it came.
    pub retry_after: Option<String>,
    /// The body, as it came.
    pub body: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none, or a header cannot be sent.
    #[error("{0}")]
    Invalid(String),
    /// No connection: nothing was sent.
    #[error("{base} cannot be reached: {reason}")]
    Unreachable {
        /// Where it was tried; without a password.
        base: String,
        /// Why not.
        reason: String,
    },
    /// The request may have arrived, but no complete answer came back: what it did is unknown.
    #[error("no answer from {base}: {reason}")]
    Unknown {
        /// Who was asked; without a password.
        base: String,
        /// What went wrong.
        reason: String,
    },
}

/// One request to make.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// The method.
    pub method: Method,
    /// The path and query.
    pub path: &'a str,
    /// The key, where the request has one.
    pub key: Option<&'a str>,
    /// How long the server may hold the answer until the call settles.
    pub wait: Option<Duration>,
    /// The JSON body, where the request has one.
    pub body: Option<String>,
}

impl<'a> Ask<'a> {
    /// A GET of `path`.
    pub fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, key: None, wait: None, body: None }
    }

    /// A POST to `path`.
    pub fn post(path: &'a str) -> Self {
        Self { method: Method::POST, ..Self::get(path) }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.debug_struct("Client").field("base", &address::shown(self.base.as_str())).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at `base`, as in `http://127.0.0.1:8081`.
    ///
    /// # Errors
    /// `Invalid` if `base` is not such an address.
    pub fn new(base: &str) -> Result<Self, ClientError> {
        let base = address::parse(base).map_err(ClientError::Invalid)?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|problem| ClientError::Invalid(problem.to_string()))?;
        Ok(Self { base, http })
    }

    /// Sends one request and reads the whole answer, all within `timeout` and what the server may wait.
    ///
    /// # Errors
    /// `Unreachable` only if nothing was sent; `Unknown` if it may have been.
    pub async fn ask(&self, ask: Ask<'_>, timeout: Duration) -> Result<Answer, ClientError> {
        // Not `join`, which would replace the path of a server that lies behind a prefix.
        let url = Url::parse(&format!("{}{}", self.base.as_str().trim_end_matches('/'), ask.path))
            .map_err(|problem| ClientError::Invalid(problem.to_string()))?;
        let mut headers = HeaderMap::new();
        if let Some(key) = ask.key {
            let key = HeaderValue::from_str(key)
                .map_err(|_| ClientError::Invalid("the key is not visible ASCII".into()))?;
            headers.insert(HeaderName::from_static("idempotency-key"), key);
        }
        // Whole seconds, rounded up: a wait of none would make a client that polls ask without a pause.
        let wait =
            ask.wait.map_or(0, |wait| u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX));
        if ask.wait.is_some() {
            let prefer = HeaderValue::from_str(&format!("wait={wait}"))
                .map_err(|problem| ClientError::Invalid(problem.to_string()))?;
            headers.insert(HeaderName::from_static("prefer"), prefer);
        }
        if ask.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let mut request = self.http.request(ask.method, url).headers(headers);
        request = request.timeout(timeout.saturating_add(Duration::from_secs(wait)));
        if let Some(body) = ask.body {
            request = request.body(body);
        }
        let response = request.send().await.map_err(|error| self.failed(&error))?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.map(str::to_owned);
        let body = response.text().await.map_err(|error| self.failed(&error))?;
        Ok(Answer { status, retry_after, body })
    }

    fn failed(&self, error: &reqwest::Error) -> ClientError {
        let base = address::shown(self.base.as_str()).trim_end_matches('/').to_owned();
        let reason = innermost(error);
        match error.is_connect() {
            true => ClientError::Unreachable { base, reason },
            false if error.is_timeout() => ClientError::Unknown { base, reason: "timed out".into() },
            false => ClientError::Unknown { base, reason },
        }
    }
}

/// The cause that says something: the outer ones only repeat that a request failed.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

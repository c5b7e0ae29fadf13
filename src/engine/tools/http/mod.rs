//! A downstream that is spoken to by HTTP: what is sent to it, and what its answer says of the attempt.

mod address;
mod answer;
mod statuses;

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, redirect, retry};

use self::address::Address;
pub(super) use self::address::same_origin;
use self::answer::Answer;
pub use self::statuses::Statuses;
use super::{Failure, Finding, Invocation, Outcome, Secret, Unfit};
use crate::domain::json::Canonical;

/// What an endpoint is set up with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The method. With GET and HEAD the args are the query; with all others they are the body.
    pub method: String,
    /// Where: `http` or `https`. `{effect_id}`, `{call_id}` and `{attempt}` stand for those of the attempt.
    pub url: String,
    /// What is sent along, beside the headers that each attempt has by itself.
    pub headers: Vec<(String, Secret)>,
    /// How long it may take to connect, TLS included.
    pub connect_timeout: Duration,
    /// The largest answer that is read, in bytes.
    pub max_body: usize,
    /// What each status says.
    pub statuses: Statuses,
}

/// One request that can be sent for any attempt.
///
/// Redirects are not followed and nothing is sent twice. Each request has a connection of its own: on one that was used
/// before, "closed by the other side" could mean that the request never arrived, or that it did.
#[derive(Debug, Clone)]
pub struct Endpoint {
    client: Client,
    method: Method,
    address: Address,
    headers: HeaderMap,
    secrets: Vec<Secret>,
    max_body: usize,
    statuses: Statuses,
}

/// Names the effect to the downstream: the same on every attempt.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const CALL_ID: HeaderName = HeaderName::from_static("callonce-call-id");
const ATTEMPT: HeaderName = HeaderName::from_static("callonce-attempt");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The headers that each request has by itself, and those that belong to the connection.
const OWN: [&str; 8] = [
    "idempotency-key",
    "callonce-call-id",
    "callonce-attempt",
    "traceparent",
    "connection",
    "content-length",
    "host",
    "transfer-encoding",
];

/// A secret shorter than this is not looked for in answers: it would be found where it is not meant.
const SHORTEST_HIDDEN: usize = 8;

impl Endpoint {
    /// Takes these settings, if they go together.
    ///
    /// # Errors
    /// Says which of them is wrong, what was expected and, of a header, only its name.
    pub fn new(settings: Settings) -> Result<Self, Unfit> {
        let Settings { method, url, headers: named, connect_timeout, max_body, statuses } = settings;
        let expected = Unfit::new("method", format!("expected one as in \"POST\", found {method:?}"));
        let method = match Method::from_bytes(method.as_bytes()) {
            Ok(parsed) if method.bytes().all(|byte| byte.is_ascii_uppercase()) => parsed,
            Ok(_) | Err(_) => return Err(expected),
        };
        let address = Address::parse(&url).map_err(|problem| Unfit::new("url", problem))?;
        let mut headers = HeaderMap::new();
        if !has_no_body(&method) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in &named {
            let (name, value) = header(name, value).map_err(|problem| Unfit::new("headers", problem))?;
            headers.insert(name, value);
        }
        let client = Client::builder()
            .connect_timeout(connect_timeout)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .pool_max_idle_per_host(0)
            .no_proxy()
            .user_agent(concat!("callonce/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|problem| Unfit::new("url", problem.to_string()))?;
        let secrets = named.into_iter().map(|(_, value)| value).collect();
        Ok(Self { client, method, address, headers, secrets, max_body, statuses })
    }

    /// Sends the request for this attempt, and takes the answer for how it ended.
    pub async fn run(&self, invocation: &Invocation) -> Outcome {
        let failed = |retryable, message| {
            Outcome::Failed(Failure { code: "tool_failed".into(), message, retryable, cause: None })
        };
        match self.send(invocation, Some(&invocation.args)).await {
            Ok(answer) => answer.outcome(&self.statuses),
            Err(Unanswered::NotSent(problem)) => failed(true, format!("nothing was sent: {problem}")),
            Err(Unanswered::Malformed(problem)) => failed(false, problem),
            Err(Unanswered::Lost(problem)) => Outcome::Unknown {
                message: format!("the request was sent, and no whole answer came: {problem}"),
            },
        }
    }

    /// Sends the question about this attempt. A success says that it happened, with the answer as its result; a final
    /// failure says that it has not.
    pub async fn ask(&self, attempt: &Invocation) -> Finding {
        match self.send(attempt, None).await {
            Ok(answer) => answer.finding(&self.statuses),
            Err(
                Unanswered::NotSent(problem) | Unanswered::Malformed(problem) | Unanswered::Lost(problem),
            ) => Finding::Unknown { message: problem },
        }
    }

    async fn send(&self, invocation: &Invocation, args: Option<&Canonical>) -> Result<Answer, Unanswered> {
        let request = self.request(invocation, args)?;
        let mut response = self.client.execute(request).await.map_err(|error| match error.is_connect() {
            true => Unanswered::NotSent(innermost(&error)),
            false => Unanswered::Lost(innermost(&error)),
        })?;
        let mut answer = Answer::new(response.status().as_u16(), response.headers());
        while let Some(chunk) = response.chunk().await.map_err(|error| Unanswered::Lost(innermost(&error)))? {
            if !answer.take(&chunk, self.max_body) {
                break;
            }
        }
        let long_enough = |secret: &&str| secret.len() >= SHORTEST_HIDDEN;
        answer.hide(self.secrets.iter().map(Secret::expose).filter(long_enough));
        Ok(answer)
    }

    fn request(&self, invocation: &Invocation, args: Option<&Canonical>) -> Result<Request, Unanswered> {
        let Invocation { call_id, effect_id, attempt, trace, .. } = invocation;
        let mut url = self.address.of(invocation).map_err(Unanswered::Malformed)?;
        if let Some(args) = args.filter(|_| has_no_body(&self.method)) {
            address::append_args(&mut url, &args.to_value());
        }
        let mut request = Request::new(self.method.clone(), url);
        if let Some(args) = args.filter(|_| !has_no_body(&self.method)) {
            *request.body_mut() = Some(args.as_str().to_owned().into());
        }
        let headers = request.headers_mut();
        headers.extend(self.headers.clone());
        for (name, value) in [
            (IDEMPOTENCY_KEY, effect_id.to_string()),
            (CALL_ID, call_id.to_string()),
            (ATTEMPT, attempt.to_string()),
            (TRACEPARENT, trace.to_string()),
        ] {
            let value = HeaderValue::try_from(value).map_err(|bad| Unanswered::Malformed(bad.to_string()))?;
            headers.insert(name, value);
        }
        Ok(request)
    }
}

/// Why there is no answer.
enum Unanswered {
    /// There was no connection, so nothing was sent.
    NotSent(String),
    /// There could be no request.
    Malformed(String),
    /// It was sent, at least in part.
    Lost(String),
}

fn has_no_body(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

fn header(name: &str, value: &Secret) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::try_from(name).map_err(|_| format!("{name:?} is no name of a header"))?;
    if OWN.contains(&parsed.as_str()) {
        return Err(format!("every request has its own {name}; leave it out"));
    }
    let mut value = HeaderValue::from_str(value.expose())
        .map_err(|_| format!("{name}: expected a value of visible ASCII, spaces and tabs"))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

/// The cause that says something: the outer ones only repeat that a request failed.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

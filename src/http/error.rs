//! The one table: what went wrong inside → status and stable code outside. Every code has a section in docs/errors.md.

use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::body::BodyError;
use super::framing::FramingError;
use super::host::HostError;
use super::idempotency_key::KeyError;
use super::prefer::PreferError;
use super::wire::ProblemView;
use crate::domain::id::InvalidId;
use crate::domain::refusal::Refusal;
use crate::engine::{EngineError, StoreError};

/// After how many seconds a busy server may be asked again: by then several of its batches are done.
const RETRY_BUSY: HeaderValue = HeaderValue::from_static("1");
/// After how many seconds a server with a broken or full store may be asked again: a person has to act first.
const RETRY_BROKEN: HeaderValue = HeaderValue::from_static("5");

/// The most bytes of one text in a problem document. A request can hold a megabyte that a refusal would repeat to say
/// where the fault is; a person needs a few lines of it.
const MAX_TEXT_BYTES: usize = 1024;

/// An answer that is not a success.
#[derive(Debug, Clone)]
pub struct ApiError {
    kind: Kind,
    detail: String,
    differs: Vec<String>,
    allow: Option<HeaderValue>,
    /// Whether the client may still be sending, so that the connection is of no further use.
    close: bool,
}

/// What it says to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// There is no `Idempotency-Key`.
    MissingKey,
    /// The request is malformed.
    BadRequest,
    /// The method does not fit the path.
    MethodNotAllowed,
    /// The request did not arrive in time.
    Timeout,
    /// The body is too large.
    TooLarge,
    /// The body is not JSON by its own declaration.
    UnsupportedMediaType,
    /// The key belongs to another request.
    Conflict,
    /// There is nothing to settle.
    NotHeld,
    /// There is no such call.
    NoSuchCall,
    /// There is no such route.
    NoSuchRoute,
    /// Too much is under way.
    Overloaded,
    /// There is no space left.
    StorageFull,
    /// The store is out of order, or the server is not ready.
    Unavailable,
    /// A fault of our own.
    Internal,
}

impl Kind {
    /// Status, stable code and title.
    pub const fn row(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::MissingKey => {
                (StatusCode::BAD_REQUEST, "missing_idempotency_key", "Idempotency-Key is missing")
            }
            Self::BadRequest => (StatusCode::BAD_REQUEST, "bad_request", "The request is malformed"),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "bad_request", "The method is not allowed here")
            }
            Self::Timeout => {
                (StatusCode::REQUEST_TIMEOUT, "bad_request", "The request did not arrive in time")
            }
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "bad_request", "The body is too large"),
            Self::UnsupportedMediaType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad_request", "The body must be JSON")
            }
            Self::Conflict => {
                (StatusCode::CONFLICT, "idempotency_conflict", "The key was used for another request")
            }
            Self::NotHeld => (StatusCode::CONFLICT, "not_held", "The call is not held"),
            Self::NoSuchCall => (StatusCode::NOT_FOUND, "not_found", "There is no such call"),
            Self::NoSuchRoute => (StatusCode::NOT_FOUND, "not_found", "There is no such route"),
            Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "overloaded", "The server is too busy"),
            Self::StorageFull => (StatusCode::INSUFFICIENT_STORAGE, "storage_full", "The storage is full"),
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "The server is unavailable")
            }
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "The server has a fault"),
        }
    }

    /// Whether the same request, sent again later, may succeed.
    fn is_retryable(self) -> bool {
        self.retry_after().is_some() || matches!(self, Self::Timeout | Self::Internal)
    }

    fn retry_after(self) -> Option<HeaderValue> {
        match self {
            Self::Overloaded => Some(RETRY_BUSY),
            Self::StorageFull | Self::Unavailable => Some(RETRY_BROKEN),
            Self::MissingKey
            | Self::BadRequest
            | Self::MethodNotAllowed
            | Self::Timeout
            | Self::TooLarge
            | Self::UnsupportedMediaType
            | Self::Conflict
            | Self::NotHeld
            | Self::NoSuchCall
            | Self::NoSuchRoute
            | Self::Internal => None,
        }
    }
}

impl ApiError {
    /// An error of this kind that says `detail` to a person.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: shortened(detail.into()), differs: vec![], allow: None, close: false }
    }

    /// A malformed request.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(Kind::BadRequest, detail)
    }

    /// No call with this id or key: not accepted so far.
    pub fn no_such_call() -> Self {
        let detail = "no such call: it was not accepted so far; to send it, use the key it was meant to have, never another";
        Self::new(Kind::NoSuchCall, detail)
    }

    /// Ends the connection after this answer.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    /// Says which methods fit.
    #[must_use]
    pub fn allowing(mut self, methods: HeaderValue) -> Self {
        self.allow = Some(methods);
        self
    }
}

/// The text, without its middle if it is too long: what is wrong stands at one of its ends.
fn shortened(text: String) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text;
    }
    let half = MAX_TEXT_BYTES / 2;
    let (start, end) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    format!("{} […] {}", &text[..start], &text[end..])
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Invalid(problem) => Self::bad_request(problem),
            EngineError::Overloaded => Self::new(Kind::Overloaded, error.to_string()),
            EngineError::Refused(refusal) => refusal.into(),
            EngineError::Store(fault) => fault.into(),
            EngineError::Internal(fault) => {
                tracing::error!(%fault, "internal fault");
                Self::new(Kind::Internal, "a fault of the server; its log says more")
            }
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::IdempotencyConflict { paths } => {
                let differs = paths.into_iter().map(shortened).collect();
                Self { differs, ..Self::new(Kind::Conflict, detail) }
            }
            Refusal::NotFound => Self::no_such_call(),
            Refusal::NotHeld | Refusal::Final => {
                Self::new(Kind::NotHeld, format!("{detail}, so there is nothing to settle"))
            }
            Refusal::Stale { .. }
            | Refusal::Held
            | Refusal::Leased { .. }
            | Refusal::NotPending
            | Refusal::NotDue { .. }
            | Refusal::EffectMismatch { .. } => Self::new(Kind::BadRequest, detail),
        }
    }
}

/// What the store says names files and SQL: that is for the log, which the engine wrote; clients get the kind.
impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full(_) => Self::new(
                Kind::StorageFull,
                "the storage is full: the call was not accepted; reads still work",
            ),
            StoreError::Unavailable(_) => Self::new(
                Kind::Unavailable,
                "the store does not answer; send the same request with the same key later",
            ),
            StoreError::Corrupt(fault) => {
                tracing::error!(%fault, "what is stored is not what was written");
                Self::new(Kind::Internal, "what is stored about this is damaged; the server's log says more")
            }
        }
    }
}

impl From<KeyError> for ApiError {
    fn from(error: KeyError) -> Self {
        let kind = if error.is_missing() { Kind::MissingKey } else { Kind::BadRequest };
        Self::new(kind, error.to_string())
    }
}

impl From<InvalidId> for ApiError {
    fn from(error: InvalidId) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<PreferError> for ApiError {
    fn from(error: PreferError) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<HostError> for ApiError {
    fn from(error: HostError) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<FramingError> for ApiError {
    fn from(error: FramingError) -> Self {
        // Whatever follows may be meant as something else.
        Self::bad_request(error.to_string()).closing()
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        let kind = match error {
            BodyError::TooLong { .. } => Kind::TooLarge,
            BodyError::TooSlow { .. } => Kind::Timeout,
            BodyError::Busy => Kind::Overloaded,
            BodyError::Broken => Kind::BadRequest,
        };
        Self::new(kind, error.to_string()).closing()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code, title) = self.kind.row();
        let retryable = self.kind.is_retryable();
        let problem = ProblemView::new(code, title, status.as_u16(), &self.detail, &self.differs, retryable);
        let body = serde_json::to_vec(&problem).expect("a problem is always JSON");
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.kind.retry_after() {
            headers.insert(RETRY_AFTER, seconds);
        }
        if self.close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(methods) = self.allow {
            headers.insert(ALLOW, methods);
        }
        response
    }
}

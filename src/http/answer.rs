//! A call as an HTTP answer: status, headers, body.

use std::time::Duration;

use axum::http::header::{CONTENT_TYPE, ETAG, LOCATION, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::etag::etag;
use super::prefer::preference_applied;
use super::wire::CallView;
use crate::domain::call::Call;
use crate::engine::Snapshot;

/// `true` if this request changed nothing: it repeated a known call.
pub(super) struct Replayed(pub(super) bool);

const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Answers a GET, or a POST with what it did and where the new call is found.
pub(super) fn call(
    snapshot: &Snapshot,
    waited: Option<Duration>,
    post: Option<(Replayed, Option<String>)>,
) -> Response {
    let mut response = json(&CallView::of(snapshot));
    let headers = response.headers_mut();
    headers.insert(ETAG, etag(snapshot.version.0));
    if let Some(wait) = waited {
        headers.insert(PREFERENCE_APPLIED, preference_applied(wait));
    }
    let Some((Replayed(replayed), location)) = post else { return response };
    let replayed = HeaderValue::from_static(if replayed { "true" } else { "false" });
    headers.insert(IDEMPOTENT_REPLAYED, replayed);
    if let Some(location) = location.and_then(|url| HeaderValue::from_str(&url).ok()) {
        headers.insert(LOCATION, location);
    }
    match snapshot.call {
        Call::Succeeded { .. } | Call::Failed { .. } => {}
        Call::Absent | Call::Pending { .. } | Call::Running { .. } | Call::Held { .. } => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            *response.status_mut() = StatusCode::ACCEPTED;
        }
    }
    response
}

/// A 200 with this body.
pub(super) fn json(view: &impl Serialize) -> Response {
    let body = serde_json::to_vec(view).expect("our own views are always JSON");
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

/// A 304: the client has this version already.
pub(super) fn not_modified(snapshot: &Snapshot, waited: Option<Duration>) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    response.headers_mut().insert(ETAG, etag(snapshot.version.0));
    if let Some(wait) = waited {
        response.headers_mut().insert(PREFERENCE_APPLIED, preference_applied(wait));
    }
    response
}

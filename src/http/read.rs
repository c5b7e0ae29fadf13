//! `GET /v1/tool-calls/{id}` and `/v1/tool-calls/by-key/{key}`: the call as it is, or as soon as it moves.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;

use super::answer::{call, not_modified};
use super::error::ApiError;
use super::etag::Known;
use super::idempotency_key::key_from_path_segment;
use super::prefer;
use super::router::App;
use crate::domain::id::{CallId, IdemKey};
use crate::engine::{Snapshot, Store, Until};

pub(super) async fn by_id<S: Store>(
    State(app): State<App<S>>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = call_id(id)?;
    let found = app.engine.get(id).await?.ok_or_else(ApiError::no_such_call)?;
    answer(&app, found, &headers).await
}

/// The call id in a path. What is no call id, escapes that lead to no text among it, is the id of no call.
pub(super) fn call_id(segment: Result<Path<String>, PathRejection>) -> Result<CallId, ApiError> {
    let id = segment.ok().and_then(|Path(id)| id.parse().ok());
    id.ok_or_else(ApiError::no_such_call)
}

pub(super) async fn by_key<S: Store>(
    State(app): State<App<S>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    // The path as it was sent: escapes are decoded once, strictly, by the rules of keys.
    let segment = uri.path().rsplit('/').next().unwrap_or_default();
    let key = IdemKey::parse(&key_from_path_segment(segment)?)?;
    let found = app.engine.find(&key).await?.ok_or_else(ApiError::no_such_call)?;
    answer(&app, found, &headers).await
}

async fn answer<S: Store>(app: &App<S>, found: Snapshot, headers: &HeaderMap) -> Result<Response, ApiError> {
    let wait = prefer::wait(headers)?;
    let known = Known::from_headers(headers);
    let found = match (wait, found.call.request().map(|request| request.call_id)) {
        (Some(wait), Some(id)) => {
            let conditional = headers.contains_key(IF_NONE_MATCH);
            let until = if conditional { Until::Changed(found.version) } else { Until::Settled };
            // A client with another version than the current one is already told something new.
            let news = !conditional || known.has(found.version.0);
            let waited = if news { app.engine.wait(id, until, wait).await? } else { None };
            waited.unwrap_or(found)
        }
        _ => found,
    };
    match known.has(found.version.0) {
        true => Ok(not_modified(&found, wait)),
        false => Ok(call(&found, wait, None)),
    }
}

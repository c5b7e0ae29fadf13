//! `GET /v1/tool-calls/{id}` and `/v1/tool-calls/by-key/{key}`: the call as it is, as soon as it moves, or as it was.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::IF_NONE_MATCH;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;

use super::answer::{call, not_modified};
use super::error::{ApiError, Kind};
use super::etag::Known;
use super::idempotency_key::key_from_path_segment;
use super::prefer;
use super::router::App;
use crate::domain::id::{CallId, IdemKey, Version};
use crate::engine::{Past, Snapshot, Store, Until, no_such_version};

pub(super) async fn by_id<S: Store>(
    State(app): State<App<S>>,
    id: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = call_id(id)?;
    if let Some(version) = asked_version(query.as_deref().unwrap_or_default())? {
        return past(&app, id, version, &headers).await;
    }
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
    let asked = asked_version(uri.query().unwrap_or_default())?;
    let found = app.engine.find(&key).await?.ok_or_else(ApiError::no_such_call)?;
    if let (Some(version), Some(request)) = (asked, found.call.request()) {
        return past(&app, request.call_id, version, &headers).await;
    }
    answer(&app, found, &headers).await
}

/// The call as it was at `version`. That can never change, so there is nothing to wait for.
async fn past<S: Store>(
    app: &App<S>,
    id: CallId,
    version: Version,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    match app.engine.get_at(id, version).await? {
        Past::Was(then) if Known::from_headers(headers).has(then.version.0) => Ok(not_modified(&then, None)),
        Past::Was(then) => Ok(call(&then, None, None)),
        Past::NoVersion { asked, last } => Err(ApiError::new(Kind::NoSuchCall, no_such_version(asked, last))),
        Past::NoCall => Err(ApiError::no_such_call()),
    }
}

/// The version in the query `at=VERSION`. Digits only, so that a number has one spelling.
fn asked_version(query: &str) -> Result<Option<Version>, ApiError> {
    let mut asked = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name != "at" {
            continue;
        }
        let number = value.parse().ok().filter(|_| value.bytes().all(|byte| byte.is_ascii_digit()));
        let number = number.ok_or_else(|| {
            ApiError::bad_request("query parameter at: expected the number of a version, as in at=1")
        })?;
        if asked.replace(Version(number)).is_some() {
            return Err(ApiError::bad_request("query parameter at: is there more than once"));
        }
    }
    Ok(asked)
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

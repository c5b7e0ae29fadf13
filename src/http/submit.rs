//! `POST /v1/tool-calls`: accept a call, or answer with the one its key leads to.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::Response;

use super::answer::{Replayed, call};
use super::error::{ApiError, Kind};
use super::idempotency_key::parse_idempotency_key;
use super::prefer;
use super::router::App;
use super::wire::{self, ToolCall};
use crate::domain::id::IdemKey;
use crate::engine::{Store, Submission, Until};

pub(super) async fn submit<S: Store>(
    State(app): State<App<S>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let key = IdemKey::parse(&parse_idempotency_key(&headers)?)?;
    is_json(&headers)?;
    let wait = prefer::wait(&headers)?;
    let body = app.bodies.read(body).await?;
    let ToolCall { tool, args, client_id, seq } = ToolCall::read(&body).map_err(ApiError::bad_request)?;
    let submitted = app.engine.submit(Submission { key, tool, args, client_id, seq }).await?;

    let mut snapshot = submitted.snapshot;
    let replayed = Replayed(!submitted.appended);
    // Only the first event of a call takes its key, so only then there is something new to point at.
    let new = snapshot.call.request().filter(|_| submitted.appended && snapshot.version.0 == 1);
    let location = new.map(|request| wire::query_url(request.call_id));
    if let (Some(wait), Some(request)) = (wait, snapshot.call.request().cloned()) {
        // The call is accepted whatever becomes of the wait, so a store that fails now takes nothing back.
        let settled = app.engine.wait(request.call_id, Until::Settled, wait).await;
        snapshot = settled.ok().flatten().unwrap_or(snapshot);
    }
    Ok(call(&snapshot, wait, Some((replayed, location))))
}

/// Whether the body is declared as JSON, in UTF-8 and not compressed.
fn is_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse = |problem: String| Err(ApiError::new(Kind::UnsupportedMediaType, problem));
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    if encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return refuse("Content-Encoding: a compressed body is not accepted; send it as it is".into());
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(declared), None) = (types.next(), types.next()) else {
        return refuse("Content-Type: exactly one is needed: application/json".into());
    };
    let declared = String::from_utf8_lossy(declared.as_bytes()).to_ascii_lowercase();
    let (media_type, parameters) = declared.split_once(';').unwrap_or((&declared, ""));
    let media_type = media_type.trim();
    let is_json = media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"));
    if !is_json {
        return refuse(format!("Content-Type: `{media_type}` is not JSON; send application/json"));
    }
    for parameter in parameters.split(';') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"');
        if name.trim() == "charset" && value != "utf-8" {
            return refuse(format!("Content-Type: the charset `{value}` is not accepted; JSON is UTF-8"));
        }
    }
    Ok(())
}

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
use crate::engine::{Store, Submission};

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
    let submission = Submission { key, tool, args, client_id, seq };
    let submitted = match wait {
        None => app.engine.submit(submission).await?,
        Some(at_most) => app.engine.submit_and_wait(submission, at_most).await?,
    };

    let snapshot = submitted.snapshot;
    let replayed = Replayed(!submitted.appended);
    let new = snapshot.call.request().filter(|_| submitted.is_new);
    let location = new.map(|request| wire::query_url(request.call_id));
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

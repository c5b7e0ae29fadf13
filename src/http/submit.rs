//! `POST /v1/tool-calls`: accept a call, or answer with the one its key leads to.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::answer::{Replayed, call};
use super::content_type::expect_json;
use super::error::ApiError;
use super::idempotency_key::parse_idempotency_key;
use super::prefer;
use super::router::App;
use super::wire::{self, ToolCall};
use crate::domain::id::IdemKey;
use crate::engine::trace::TraceParent;
use crate::engine::{Store, Submission};

pub(super) async fn submit<S: Store>(
    State(app): State<App<S>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let key = IdemKey::parse(&parse_idempotency_key(&headers)?)?;
    expect_json(&headers)?;
    let wait = prefer::wait(&headers)?;
    let body = app.bodies.read(body).await?;
    let ToolCall { tool, args, client_id, seq } = ToolCall::read(&body).map_err(ApiError::bad_request)?;
    let submission = Submission { key, tool, args, client_id, seq, trace: trace(&headers) };
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

/// The trace that the request is part of.
fn trace(headers: &HeaderMap) -> Option<TraceParent> {
    TraceParent::parse(headers.get("traceparent")?.to_str().ok()?)
}

//! `GET /v1/tool-calls/{id}/events`: what happened to a call, in order.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;

use super::answer::json;
use super::error::ApiError;
use super::read::call_id;
use super::router::App;
use super::wire::EventsView;
use crate::domain::id::Version;
use crate::engine::Store;

/// How many events one answer holds at most; a call has a few for each attempt, so none comes near it.
const MOST_EVENTS: usize = 10_000;

pub(super) async fn events<S: Store>(
    State(app): State<App<S>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let id = call_id(id)?;
    let events = app.engine.history(id, Version::NONE, MOST_EVENTS).await?;
    match events.is_empty() {
        true => Err(ApiError::no_such_call()),
        false => Ok(json(&EventsView::of(&events))),
    }
}

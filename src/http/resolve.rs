//! `POST /v1/tool-calls/{id}/resolve`: settle a held call.

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;

use super::answer::call;
use super::content_type::expect_json;
use super::error::ApiError;
use super::read::call_id;
use super::router::App;
use super::settlement;
use crate::engine::Store;

pub(super) async fn resolve<S: Store>(
    State(app): State<App<S>>,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let id = call_id(id)?;
    expect_json(&headers)?;
    let body = app.bodies.read(body).await?;
    let settlement = settlement::read(&body).map_err(ApiError::bad_request)?;
    let resolved = app.engine.resolve(id, settlement).await?;
    Ok(call(&resolved, None, None))
}

//! `GET /stats`: what is stored, in numbers.

use axum::extract::State;
use axum::response::Response;

use super::answer::json;
use super::error::ApiError;
use super::router::App;
use super::wire::StatsView;
use crate::engine::Store;

pub(super) async fn stats<S: Store>(State(app): State<App<S>>) -> Result<Response, ApiError> {
    let stats = app.engine.stats().await?;
    Ok(json(&StatsView::of(&stats, app.engine.now())))
}

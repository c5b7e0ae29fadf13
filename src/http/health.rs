//! `GET /livez` and `/readyz`: is the process there, and can it take work?

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

use super::answer::json;
use super::error::{ApiError, Kind};
use super::router::App;
use crate::engine::{EngineError, Store};

#[derive(Serialize)]
struct Fine {
    status: &'static str,
}

/// Answers as long as the process does.
pub(super) async fn livez() -> Response {
    json(&Fine { status: "alive" })
}

/// Answers 200 while calls can be accepted and run.
pub(super) async fn readyz<S: Store>(State(app): State<App<S>>) -> Result<Response, ApiError> {
    app.engine.health().map_err(|reason| ApiError::new(Kind::Unavailable, reason))?;
    // A look at the store: what cannot be read cannot be served.
    let _: crate::engine::Stats =
        app.engine.stats().await.map_err(|error: EngineError| ApiError::from(error))?;
    Ok(json(&Fine { status: "ready" }))
}

//! The contents page of the API: path, method, handler, one line each.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;

use super::body::BodyReader;
use super::error::{ApiError, Kind};
use super::limits::{Limits, PAGES_AT_ONCE};
use super::metrics::Metrics;
use super::{health, list, metrics, read, resolve, stats, submit, timeline};
use crate::engine::{Engine, Store};

/// What the handlers share.
pub(super) struct App<S: Store> {
    pub(super) engine: Engine<S>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) bodies: Arc<BodyReader>,
    /// A permit for each page of calls that may be made at this moment.
    pub(super) pages: Arc<Semaphore>,
}

impl<S: Store> Clone for App<S> {
    fn clone(&self) -> Self {
        Self {
            engine: self.engine.clone(),
            metrics: self.metrics.clone(),
            bodies: self.bodies.clone(),
            pages: self.pages.clone(),
        }
    }
}

/// The whole API over `engine`.
pub fn router<S: Store>(engine: Engine<S>, metrics: Arc<Metrics>, limits: Limits) -> Router {
    let pages = Arc::new(Semaphore::new(PAGES_AT_ONCE));
    let app = App { engine, metrics, bodies: Arc::new(BodyReader::new(limits)), pages };
    Router::new()
        .route(
            "/v1/tool-calls",
            get(list::list::<S>).post(submit::submit::<S>).fallback(only("GET, HEAD, POST")),
        )
        .route("/v1/tool-calls/{id}", get(read::by_id::<S>).fallback(only("GET, HEAD")))
        .route("/v1/tool-calls/{id}/events", get(timeline::events::<S>).fallback(only("GET, HEAD")))
        .route("/v1/tool-calls/{id}/resolve", post(resolve::resolve::<S>).fallback(only("POST")))
        .route("/v1/tool-calls/by-key/{key}", get(read::by_key::<S>).fallback(only("GET, HEAD")))
        .route("/stats", get(stats::stats::<S>).fallback(only("GET, HEAD")))
        .route("/metrics", get(metrics::metrics::<S>).fallback(only("GET, HEAD")))
        .route("/livez", get(health::livez).fallback(only("GET, HEAD")))
        .route("/readyz", get(health::readyz::<S>).fallback(only("GET, HEAD")))
        .fallback(no_such_route)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app.clone(), count::<S>))
        .with_state(app)
}

/// Answers a method that a path does not have.
fn only(methods: &'static str) -> impl Fn(Request) -> std::future::Ready<ApiError> + Clone {
    move |request| {
        let detail =
            format!("{} is not a method of {}; it has {methods}", request.method(), request.uri().path());
        let refusal = ApiError::new(Kind::MethodNotAllowed, detail);
        std::future::ready(refusal.allowing(HeaderValue::from_static(methods)))
    }
}

async fn no_such_route(uri: Uri) -> ApiError {
    ApiError::new(Kind::NoSuchRoute, format!("there is no route {}; docs/api.md lists them", uri.path()))
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    ApiError::new(Kind::Internal, "a fault of the server; its log says more").into_response()
}

async fn count<S: Store>(
    axum::extract::State(app): axum::extract::State<App<S>>,
    request: Request,
    next: Next,
) -> Response {
    let method = metrics::method_label(request.method());
    let response = next.run(request).await;
    app.metrics.answered(method, response.status());
    response
}

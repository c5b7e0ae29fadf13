//! Joins the protocol to the application: one call for each request head that is whole.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response};
use axum::response::IntoResponse;
use axum::routing::future::RouteFuture;
use hyper::body::{Frame, Incoming, SizeHint};
use tower::Service as _;

use super::phase::Progress;
use crate::http::error::ApiError;
use crate::http::framing::check_framing;
use crate::http::host::check_host;

/// The application, as one connection sees it.
pub(super) struct Service {
    pub(super) app: Router,
    pub(super) progress: Arc<Progress>,
}

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn call(&self, request: Request<Incoming>) -> Answer {
        let progress = Arc::clone(&self.progress);
        progress.requested(!request.body().is_end_stream());
        let (version, headers) = (request.version(), request.headers());
        let framed = check_framing(headers).map_err(ApiError::from);
        let source = match framed.and_then(|()| check_host(version, headers).map_err(ApiError::from)) {
            Err(refusal) => Source::Refused(Some(refusal.into_response())),
            Ok(()) => {
                let request = request.map(|inner| Watched { inner, progress: Arc::clone(&progress) });
                Source::App(self.app.clone().call(request))
            }
        };
        Answer { source, progress }
    }
}

/// The answer to come.
pub(super) struct Answer {
    source: Source,
    progress: Arc<Progress>,
}

enum Source {
    App(RouteFuture<Infallible>),
    Refused(Option<Response<Body>>),
}

impl Future for Answer {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut answer = match &mut self.source {
            Source::App(answer) => ready!(Pin::new(answer).poll(cx))?,
            Source::Refused(answer) => answer.take().expect("an answer is not polled after it is ready"),
        };
        if self.progress.answered() {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Poll::Ready(Ok(answer))
    }
}

/// A request's body that reports when its end was seen.
struct Watched {
    inner: Incoming,
    progress: Arc<Progress>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if frame.is_none() || self.inner.is_end_stream() {
            self.progress.settled_body();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

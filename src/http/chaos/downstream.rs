//! The client of one request: all that it can be given, and how its connection ends.

use std::future::pending;
use std::sync::Arc;

use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::body::{ToClient, hold};
use super::evidence::{Given, Record, Witness};
use super::mode::Silence;
use super::socket::{Cutter, How};

/// Whoever sent the request. Dropped when it has been given an answer, whose body is its own witness, or has gone.
pub(super) struct Downstream<W: Witness> {
    pub(super) cutter: Cutter,
    pub(super) record: Arc<Record<W>>,
}

impl<W: Witness> Drop for Downstream<W> {
    fn drop(&mut self) {
        if !self.record.is_giving() {
            self.record.left();
        }
    }
}

/// Why a client is answered by the proxy itself.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    problem: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, problem: impl Into<String>) -> Self {
        Self { status, problem: problem.into() }
    }
}

impl<W: Witness> Downstream<W> {
    /// What upstream answers.
    pub(super) fn give(&self, answer: Response<Incoming>) -> Response<ToClient<W>> {
        self.record.giving(answer.status().as_u16());
        answer.map(|body| ToClient::whole(body, self.cutter.clone(), Arc::clone(&self.record)))
    }

    /// The head of what upstream answers, and half of its body. A body of nothing has no half: that answer is dropped.
    pub(super) async fn give_half(
        &self,
        answer: Response<Incoming>,
    ) -> Result<Response<ToClient<W>>, Refusal> {
        if answer.body().is_end_stream() {
            drop(answer);
            return self.end(Given::Closed).await;
        }
        let (head, body) = answer.into_parts();
        let (cutter, record) = (self.cutter.clone(), Arc::clone(&self.record));
        let body = match body.size_hint().exact() {
            Some(length) => {
                let half = usize::try_from(length / 2).unwrap_or(usize::MAX);
                ToClient::cut_after(half, body, cutter, record)
            }
            None => match hold(body).await {
                Ok(body) => ToClient::half_of(body, cutter, record),
                Err(problem) => {
                    self.record.went_wrong(format!("the answer has no half: {problem}"));
                    return self.end(Given::Closed).await;
                }
            },
        };
        self.record.giving(head.status.as_u16());
        Ok(Response::from_parts(head, body))
    }

    /// An answer of the proxy's own.
    pub(super) fn refuse(&self, Refusal { status, problem }: Refusal) -> Response<ToClient<W>> {
        self.record.giving(status.as_u16());
        self.record.went_wrong(problem.as_str());
        let text = format!("callonce chaos proxy: {problem}\n");
        let body = ToClient::text(text, self.cutter.clone(), Arc::clone(&self.record));
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        // What is left of the request on this connection is not read.
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        answer
    }

    pub(super) async fn fall_silent<T>(&self, silence: Silence) -> T {
        match silence {
            Silence::Close => self.end(Given::Closed).await,
            // Until the client gives up, and this is dropped with its connection.
            Silence::Hold => pending().await,
        }
    }

    /// Cuts the connection; whoever drives it drops this.
    pub(super) async fn end<T>(&self, given: Given) -> T {
        self.record.gave(given);
        self.cutter.now(if given == Given::Reset { How::Reset } else { How::Close });
        pending().await
    }
}

//! One request: sent on as the mode says, and answered as the mode says.
//!
//! What happens at upstream until its answer begins happens whether the client stays or not, as on a network that has
//! already carried the request away. So it is done by a task of its own; the side of the client only waits for that.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::body::{NotHeld, ToClient, drain, hold};
use super::downstream::{Downstream, Refusal};
use super::evidence::{Evidence, Given, Record, Witness};
use super::mode::{Mode, Moment, Second};
use super::pick::Picker;
use super::socket::Cutter;
use super::upstream::{Line, Outgoing, Unanswered, Upstream};

/// What all requests share.
pub(super) struct Proxy<W: Witness> {
    pub(super) upstream: Arc<Upstream>,
    pub(super) mode: Mode,
    pub(super) picker: Picker,
    pub(super) witness: Arc<W>,
    pub(super) stop: CancellationToken,
    /// What is going on, at upstream and with clients.
    pub(super) under_way: TaskTracker,
    pub(super) requests: AtomicU64,
}

impl<W: Witness> Proxy<W> {
    /// Answers a request; or cuts the connection that it came on, and never returns.
    pub(super) async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        cutter: Cutter,
    ) -> Result<Response<ToClient<W>>, Infallible> {
        let (parts, body) = request.into_parts();
        let mode = match self.picker.picks(&parts.method, parts.uri.path()) {
            true => self.mode,
            false => Mode::Pass,
        };
        let client = Downstream { cutter, record: self.record(&parts, mode) };
        let treated = self.treat(mode, parts, body, &client).await;
        Ok(treated.unwrap_or_else(|refusal| client.refuse(refusal)))
    }

    async fn treat(
        &self,
        mode: Mode,
        parts: Parts,
        body: Incoming,
        client: &Downstream<W>,
    ) -> Result<Response<ToClient<W>>, Refusal> {
        if parts.method == Method::CONNECT {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "CONNECT is not spoken here"));
        }
        match mode {
            Mode::Pass => Ok(client.give(self.send(parts, body, client).await?)),
            Mode::DelayResponse(delay) => {
                let answer = self.send(parts, body, client).await?;
                tokio::time::sleep(delay).await;
                Ok(client.give(answer))
            }
            Mode::TruncateResponse => client.give_half(self.send(parts, body, client).await?).await,
            Mode::DuplicateRequest(second) => {
                let body = hold(body).await?;
                let answer = match second {
                    Second::NewConnection => self.send_on_two_lines(parts, body, client).await?,
                    Second::SameConnection => self.send_twice_on_a_line(parts, body, client).await?,
                };
                Ok(client.give(answer))
            }
            Mode::DropResponse(silence) => {
                self.send_in_vain(parts, body, client).await?;
                client.fall_silent(silence).await
            }
            Mode::Reset(Moment::Response) => {
                self.send_in_vain(parts, body, client).await?;
                client.end(Given::Reset).await
            }
            Mode::Reset(Moment::Request) => client.end(Given::Reset).await,
            Mode::DropRequest(silence) => {
                // To the end, so that the client is not stopped by a full socket instead.
                drain(body).await;
                client.fall_silent(silence).await
            }
        }
    }

    fn record(&self, parts: &Parts, mode: Mode) -> Arc<Record<W>> {
        let key = parts.headers.get("idempotency-key");
        let evidence = Evidence {
            request: self.requests.fetch_add(1, Ordering::Relaxed) + 1,
            method: parts.method.to_string(),
            path: parts.uri.path_and_query().map_or_else(|| parts.uri.to_string(), ToString::to_string),
            key: key.map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned()),
            mode: mode.name(),
            sent: 0,
            upstream: Vec::new(),
            client: Given::GaveUp,
            status: None,
            bytes: 0,
            problem: None,
            elapsed_ms: 0,
        };
        Record::begin(evidence, Arc::clone(&self.witness), self.stop.clone())
    }

    /// Sends the request, and returns the answer once its head is there.
    async fn send(
        &self,
        parts: Parts,
        body: Incoming,
        client: &Downstream<W>,
    ) -> Result<Response<Incoming>, Refusal> {
        let sending = self.sending(parts, client);
        self.apart(async move { sending.send(Either::Left(body), &mut sending.connect().await?, true).await })
            .await
    }

    /// Sends the request, and reads the answer for nobody.
    async fn send_in_vain(
        &self,
        parts: Parts,
        body: Incoming,
        client: &Downstream<W>,
    ) -> Result<(), Refusal> {
        let sending = self.sending(parts, client);
        self.apart(async move {
            let answer = sending.send(Either::Left(body), &mut sending.connect().await?, true).await?;
            drain(answer.into_body()).await;
            Ok(())
        })
        .await
    }

    /// Sends the request on two connections at once, and returns the answer on the second.
    async fn send_on_two_lines(
        &self,
        parts: Parts,
        body: Bytes,
        client: &Downstream<W>,
    ) -> Result<Response<Incoming>, Refusal> {
        let [first, second] = [self.sending(parts.clone(), client), self.sending(parts, client)];
        let [one, other] = [held(&body), held(&body)];
        let (first, second) = tokio::join!(
            self.apart(async move {
                let answer = first.send(one, &mut first.connect().await?, true).await?;
                drain(answer.into_body()).await;
                Ok(())
            }),
            self.apart(async move { second.send(other, &mut second.connect().await?, true).await }),
        );
        // What became of the first copy is in the evidence.
        drop(first);
        second
    }

    /// Sends the request, and once it is answered again on the same connection, and returns the second answer.
    async fn send_twice_on_a_line(
        &self,
        parts: Parts,
        body: Bytes,
        client: &Downstream<W>,
    ) -> Result<Response<Incoming>, Refusal> {
        let sending = self.sending(parts, client);
        self.apart(async move {
            let mut line = sending.connect().await?;
            let first = sending.send(held(&body), &mut line, false).await?;
            let status = first.status().as_u16();
            drain(first.into_body()).await;
            let second = sending.try_to_send(held(&body), &mut line, true).await;
            // What happened to the second says nothing about the first, which was executed.
            second.map_err(|problem| {
                sending.failed(format!(
                    "of two copies, the first was answered with {status}, the second not: {problem}"
                ))
            })
        })
        .await
    }

    /// Does this even if the client leaves.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (tell, hear) = oneshot::channel();
        self.under_way.spawn(self.stop.clone().run_until_cancelled_owned(async move {
            // Nobody hears it if the client has left.
            let _ = tell.send(work.await);
        }));
        match hear.await {
            Ok(done) => done,
            // The connection is cut as well, without an answer.
            Err(_) if self.stop.is_cancelled() => pending().await,
            Err(_) => {
                Err(Refusal::new(StatusCode::BAD_GATEWAY, "the proxy failed; what became of it is unknown"))
            }
        }
    }

    fn sending(&self, parts: Parts, client: &Downstream<W>) -> Sending<W> {
        Sending { upstream: Arc::clone(&self.upstream), parts, record: Arc::clone(&client.record) }
    }
}

/// A request on its way to upstream.
struct Sending<W: Witness> {
    upstream: Arc<Upstream>,
    parts: Parts,
    record: Arc<Record<W>>,
}

impl<W: Witness> Sending<W> {
    async fn connect(&self) -> Result<Line, Refusal> {
        let connected = self.upstream.connect().await;
        connected.map_err(|problem| self.failed(problem.to_string()))
    }

    async fn send(&self, body: Outgoing, line: &mut Line, last: bool) -> Result<Response<Incoming>, Refusal> {
        self.try_to_send(body, line, last).await.map_err(|problem| self.failed(problem.to_string()))
    }

    async fn try_to_send(
        &self,
        body: Outgoing,
        line: &mut Line,
        last: bool,
    ) -> Result<Response<Incoming>, Unanswered> {
        line.ready().await?;
        // Before it is: whoever ends this meanwhile must not be told that nothing was sent.
        self.record.sends();
        let answered = line.exchange(self.upstream.request(&self.parts, body, last)).await;
        match &answered {
            Ok(answer) => self.record.answered(answer.status().as_u16()),
            Err(Unanswered::NotSent(_)) => self.record.was_not_sent(),
            Err(Unanswered::Unknown(_)) => {}
        }
        answered
    }

    fn failed(&self, problem: String) -> Refusal {
        self.record.went_wrong(problem.as_str());
        Refusal::new(StatusCode::BAD_GATEWAY, problem)
    }
}

fn held(body: &Bytes) -> Outgoing {
    Either::Right(Full::new(body.clone()))
}

impl From<NotHeld> for Refusal {
    fn from(problem: NotHeld) -> Self {
        let status = match problem {
            NotHeld::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            NotHeld::Broken(_) => StatusCode::BAD_REQUEST,
        };
        Self::new(status, format!("{problem}; nothing was sent to upstream"))
    }
}

//! The service's requests: pay, ask about a payment, read the book, switch.

use std::sync::Arc;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;

use crate::book::{Asked, Book, Entry, Payment, Refused};
use crate::switches::{Point, Settings, Switches};

pub struct Service {
    pub book: Book,
    pub switches: Switches,
    pub token: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Order {
    amount: u64,
    #[serde(default)]
    to: String,
}

#[derive(Debug, Deserialize)]
struct Export {
    #[serde(default)]
    format: Format,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Ndjson,
    Json,
    Csv,
}

pub fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/payments", post(pay).get(export))
        .route("/payments/{effect_id}", get(ask))
        .route("/requests", get(requests))
        .layer(from_fn_with_state(service.clone(), authorize))
        .route("/switches", get(switches).put(switch))
        .with_state(service)
}

async fn authorize(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let brought = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match &service.token {
        Some(token) if brought != Some(&format!("Bearer {token}")) => {
            refuse(StatusCode::UNAUTHORIZED, "expected Authorization: Bearer and the token")
        }
        Some(_) | None => next.run(request).await,
    }
}

/// Goes on when the client has gone: a request that has arrived is carried out, whoever waits for the answer.
async fn pay(State(service): State<Arc<Service>>, headers: HeaderMap, Json(order): Json<Order>) -> Response {
    let told = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let Some(effect_id) = told("idempotency-key") else {
        return refuse(StatusCode::BAD_REQUEST, "expected an Idempotency-Key");
    };
    let asked = Asked {
        effect_id,
        attempt: told("callonce-attempt"),
        call_id: told("callonce-call-id"),
        traceparent: told("traceparent"),
    };
    let paying = tokio::spawn(async move { service.pay(asked, order).await });
    paying.await.unwrap_or_else(|fault| refuse(StatusCode::INTERNAL_SERVER_ERROR, &fault.to_string()))
}

impl Service {
    async fn pay(&self, asked: Asked, order: Order) -> Response {
        let payment = Payment { effect_id: asked.effect_id.clone(), amount: order.amount, to: order.to };
        if let Err(problem) = self.book.note(asked) {
            return refuse(StatusCode::INSUFFICIENT_STORAGE, &problem.to_string());
        }
        self.switches.pass(Point::BeforeEffect).await;
        let settings = self.switches.now();
        let paid = self.book.pay(payment, settings.forget_keys);
        if settings.die_after_effect {
            std::process::exit(1);
        }
        self.switches.pass(Point::AfterEffect).await;
        match paid {
            Ok((payment, true)) => (StatusCode::CREATED, Json(payment)).into_response(),
            Ok((payment, false)) => Json(payment).into_response(),
            Err(Refused::OtherPayment) => {
                refuse(StatusCode::CONFLICT, "this key has paid for something else")
            }
            Err(Refused::Broken(problem)) => refuse(StatusCode::INSUFFICIENT_STORAGE, &problem.to_string()),
        }
    }
}

async fn ask(State(service): State<Arc<Service>>, Path(effect_id): Path<String>) -> Response {
    match service.book.payment(&effect_id) {
        Some(payment) => Json(payment).into_response(),
        None => refuse(StatusCode::NOT_FOUND, "no payment with this key"),
    }
}

/// The payments, oldest first: the record that `callonce reconcile` compares with.
async fn export(State(service): State<Arc<Service>>, Query(export): Query<Export>) -> Response {
    let paid = |entry| match entry {
        Entry::Paid(payment) => Some(payment),
        Entry::Asked(_) => None,
    };
    let payments: Vec<_> = service.book.entries().into_iter().filter_map(paid).collect();
    match export.format {
        Format::Json => Json(payments).into_response(),
        Format::Ndjson => {
            let lines: String = payments.iter().map(|payment| json!(payment).to_string() + "\n").collect();
            ([(header::CONTENT_TYPE, "application/x-ndjson")], lines).into_response()
        }
        Format::Csv => {
            let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
            let row = |payment: &Payment| {
                format!("{},{},{}\n", quoted(&payment.effect_id), payment.amount, quoted(&payment.to))
            };
            let rows: String = payments.iter().map(row).collect();
            ([(header::CONTENT_TYPE, "text/csv")], format!("effect_id,amount,to\n{rows}")).into_response()
        }
    }
}

/// Every request to pay, in the order in which they came in.
async fn requests(State(service): State<Arc<Service>>) -> Response {
    let asked = |entry| match entry {
        Entry::Asked(asked) => Some(asked),
        Entry::Paid(_) => None,
    };
    Json(service.book.entries().into_iter().filter_map(asked).collect::<Vec<_>>()).into_response()
}

async fn switches(State(service): State<Arc<Service>>) -> Json<Settings> {
    Json(service.switches.now())
}

async fn switch(State(service): State<Arc<Service>>, Json(settings): Json<Settings>) -> Json<Settings> {
    service.switches.set(settings);
    Json(settings)
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

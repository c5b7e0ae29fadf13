//! `GET /v1/tool-calls`: calls, newest first, a page at a time.

use std::borrow::Cow;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use percent_encoding::percent_decode_str;
use serde_json::value::{RawValue, to_raw_value};

use super::answer::json;
use super::error::ApiError;
use super::router::App;
use super::wire::{CallView, ListView};
use crate::domain::call::Status;
use crate::domain::id::{CallId, ClientId, ToolName};
use crate::engine::{Filter, Snapshot, Store};

/// How many calls a page holds if nothing is said.
const DEFAULT_LIMIT: usize = 50;
/// How many calls a page holds at most.
const MAX_LIMIT: usize = 500;
/// How long a page gets, in bytes, before it ends with the call that it is at: 500 usual calls are shorter, and of calls that are
/// as large as they may be, each client that is slow to read holds two, not 500.
const PAGE_BYTES: usize = 1024 * 1024;
/// How many calls are read at once, as long as nobody knows how large they are.
const FIRST_PIECE: usize = 2;
/// How many calls are read at once at most: a short read transaction.
const LARGEST_PIECE: usize = 128;

pub(super) async fn list<S: Store>(
    State(app): State<App<S>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let Asked { filter, limit, before } = Asked::read(query.as_deref().unwrap_or_default())?;
    let _turn = app.pages.acquire().await;
    let mut page = Page { calls: vec![], bytes: 0, last: before };
    let more = loop {
        // One more than asked for tells whether there is another page.
        let piece = page.next_piece().min(limit + 1 - page.calls.len());
        let calls = app.engine.list(&filter, page.last, piece).await?;
        let is_last = calls.len() < piece;
        let left_out = calls.into_iter().any(|call| !page.takes(&call, limit));
        if left_out || is_last {
            break left_out;
        }
    };
    let next_cursor = page.last.filter(|_| more).map(|id| id.to_string());
    Ok(json(&ListView { calls: page.calls, next_cursor }))
}

/// A page as it grows.
struct Page {
    calls: Vec<Box<RawValue>>,
    bytes: usize,
    /// The call that it goes to.
    last: Option<CallId>,
}

impl Page {
    /// How many calls of the size that they had so far there is still room for.
    fn next_piece(&self) -> usize {
        match self.bytes / self.calls.len().max(1) {
            0 => FIRST_PIECE,
            usual => (PAGE_BYTES.saturating_sub(self.bytes) / usual).clamp(1, LARGEST_PIECE),
        }
    }

    /// Takes in this call, unless the page is full.
    fn takes(&mut self, snapshot: &Snapshot, limit: usize) -> bool {
        if self.calls.len() == limit || self.bytes >= PAGE_BYTES {
            return false;
        }
        let call = to_raw_value(&CallView::of(snapshot)).expect("our own views are always JSON");
        self.bytes += call.get().len();
        self.calls.push(call);
        self.last = snapshot.call.request().map(|request| request.call_id);
        true
    }
}

#[derive(Debug, Default)]
struct Asked {
    filter: Filter,
    limit: usize,
    before: Option<CallId>,
}

impl Asked {
    fn read(query: &str) -> Result<Self, ApiError> {
        let mut asked = Self { limit: DEFAULT_LIMIT, ..Self::default() };
        let mut seen: Vec<String> = vec![];
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            let invalid =
                |problem: String| ApiError::bad_request(format!("query parameter {name}: {problem}"));
            if seen.contains(&name) {
                return Err(invalid("is there more than once".into()));
            }
            match name.as_str() {
                "status" => {
                    let status = Status::parse(&value);
                    let expected = "expected pending, running, succeeded or failed";
                    asked.filter.status = Some(status.ok_or_else(|| invalid(expected.into()))?);
                }
                "tool" => {
                    let tool = ToolName::parse(&value).map_err(|problem| invalid(problem.to_string()))?;
                    asked.filter.tool = Some(tool);
                }
                "client_id" => {
                    let client = ClientId::parse(&value).map_err(|problem| invalid(problem.to_string()))?;
                    asked.filter.client_id = Some(client);
                }
                "held" => {
                    let held = value.parse().map_err(|_| invalid("expected true or false".into()))?;
                    asked.filter.held = Some(held);
                }
                "limit" => {
                    let digits = Some(&value).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
                    let limit = digits.and_then(|digits| digits.parse().ok());
                    let limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit));
                    let expected = format!("expected a whole number from 1 to {MAX_LIMIT}");
                    asked.limit = limit.ok_or_else(|| invalid(expected))?;
                }
                "cursor" => {
                    let cursor =
                        value.parse().map_err(|_| invalid("is not one that this server gave".into()))?;
                    asked.before = Some(cursor);
                }
                _ => {
                    let known = "there are status, tool, client_id, held, limit and cursor";
                    return Err(invalid(format!("is not known; {known}")));
                }
            }
            seen.push(name);
        }
        Ok(asked)
    }
}

/// A name or a value as it was meant: `+` is a space, and each escape has to be one.
fn decode(text: &str) -> Result<String, ApiError> {
    let invalid = |problem: &str| ApiError::bad_request(format!("the query has `{text}`, {problem}"));
    let is_escape =
        |after: &str| after.len() >= 2 && after.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_escape) {
        return Err(invalid("in which a `%` stands before no two hex digits"));
    }
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| invalid("which is not UTF-8"))
}

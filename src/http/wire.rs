//! Request and response bodies: the only JSON shapes the world sees.

use std::borrow::Cow;
use std::fmt::Display;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::domain::call::{Call, Failure, Status};
use crate::domain::event::{Event, Verdict};
use crate::domain::id::{CallId, ClientId, EffectId, ToolName};
use crate::domain::json::{self, Canonical, Value};
use crate::domain::time::Timestamp;
use crate::engine::{Recorded, Snapshot, Stats};

/// The largest `seq`: the largest integer that every JSON implementation keeps.
const MAX_SEQ: i64 = (1 << 53) - 1;

/// The body of a POST, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// What is to run.
    pub tool: ToolName,
    /// With what: always an object.
    pub args: Value,
    /// Who asks, if it says so.
    pub client_id: Option<ClientId>,
    /// The client's own number for it, if it gives one.
    pub seq: Option<u64>,
}

impl ToolCall {
    /// Reads the body of a POST.
    ///
    /// # Errors
    /// Says what is wrong, and where.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let members = members(body)?;
        let (mut tool, mut args, mut client_id, mut seq) = (None, None, None, None);
        for (name, value) in members {
            match name.as_str() {
                "tool" => tool = Some(read_tool(&value)?),
                "args" => args = Some(read_args(value)?),
                "client_id" => client_id = read_client_id(&value)?,
                "seq" => seq = read_seq(&value)?,
                _ => {
                    return Err(format!(
                        "`{name}` is not a member of a tool call; it has tool, args, client_id and seq"
                    ));
                }
            }
        }
        let tool = tool.ok_or("`tool` is missing: the name of the tool to run")?;
        let args = args.ok_or("`args` is missing: an object, `{}` for none")?;
        Ok(Self { tool, args, client_id, seq })
    }
}

/// The members of a body that has to be an object.
///
/// # Errors
/// Says what is wrong, and where.
pub(super) fn members(body: &[u8]) -> Result<Vec<(String, Value)>, String> {
    let body = json::parse(body).map_err(|error| format!("the body is not valid: {error}"))?;
    let Value::Object(members) = body else {
        return Err(format!("the body is {}; expected an object", body.kind_name()));
    };
    Ok(members)
}

fn read_tool(value: &Value) -> Result<ToolName, String> {
    let name = value.as_str().ok_or_else(|| format!("`tool` is {}; expected a string", value.kind_name()))?;
    ToolName::parse(name).map_err(|invalid| invalid.to_string())
}

fn read_args(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(_) => Ok(value),
        Value::String(text) if matches!(json::parse(text.as_bytes()), Ok(Value::Object(_))) => {
            Err("`args` is a string that holds JSON; send the object itself, not its text".into())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(format!("`args` is {}; expected an object", value.kind_name()))
        }
    }
}

fn read_client_id(value: &Value) -> Result<Option<ClientId>, String> {
    if *value == Value::Null {
        return Ok(None);
    }
    let text = value.as_str();
    let text = text.ok_or_else(|| format!("`client_id` is {}; expected a string", value.kind_name()))?;
    ClientId::parse(text).map(Some).map_err(|invalid| invalid.to_string())
}

fn read_seq(value: &Value) -> Result<Option<u64>, String> {
    if *value == Value::Null {
        return Ok(None);
    }
    let number = value.as_number();
    let number = number.ok_or_else(|| format!("`seq` is {}; expected a whole number", value.kind_name()))?;
    let seq = number.as_i64().filter(|seq| (0..=MAX_SEQ).contains(seq));
    let problem = || format!("`seq` is {}; expected a whole number from 0 to {MAX_SEQ}", number.as_str());
    seq.map(|seq| Some(seq.unsigned_abs())).ok_or_else(problem)
}

/// A call, as clients see it.
#[derive(Debug, Serialize)]
pub struct CallView<'a> {
    #[serde(serialize_with = "text")]
    call_id: CallId,
    idem_key: &'a str,
    status: &'static str,
    #[serde(rename = "final")]
    is_final: bool,
    attempt: u32,
    result: Option<Json<'a>>,
    error: Option<FailureView<'a>>,
    query_url: String,
    tool: &'a str,
    args: Json<'a>,
    client_id: Option<&'a str>,
    seq: Option<u64>,
    #[serde(serialize_with = "optional_text")]
    effect_id: Option<EffectId>,
    held: Option<HeldView>,
    version: u64,
    #[serde(serialize_with = "rfc3339")]
    created_at: Timestamp,
    #[serde(serialize_with = "rfc3339")]
    updated_at: Timestamp,
}

/// Why a call failed.
#[derive(Debug, Serialize)]
struct FailureView<'a> {
    code: &'a str,
    message: &'a str,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
}

/// Why nobody may run a call.
#[derive(Debug, Serialize)]
struct HeldView {
    #[serde(serialize_with = "rfc3339")]
    since: Timestamp,
    reason: &'static str,
    attempt: u32,
    #[serde(serialize_with = "text")]
    effect_id: EffectId,
}

impl<'a> CallView<'a> {
    /// The view of a call that is there.
    ///
    /// # Panics
    /// If the call is absent: no read gives such a snapshot.
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let call = &snapshot.call;
        let request = call.request().expect("a call that was read has a request");
        let (result, effect_id) = match call {
            Call::Succeeded { result, effect, .. } => {
                (Some(Json(result)), effect.map(|_| request.effect_id()))
            }
            Call::Absent
            | Call::Pending { .. }
            | Call::Running { .. }
            | Call::Held { .. }
            | Call::Failed { .. } => (None, None),
        };
        let error = match call {
            Call::Failed { error, .. } => Some(FailureView::of(error)),
            Call::Absent
            | Call::Pending { .. }
            | Call::Running { .. }
            | Call::Held { .. }
            | Call::Succeeded { .. } => None,
        };
        let held = match call {
            Call::Held { attempt, since, reason, .. } => Some(HeldView {
                since: *since,
                reason: reason.as_str(),
                attempt: attempt.number,
                effect_id: request.effect_id(),
            }),
            Call::Absent
            | Call::Pending { .. }
            | Call::Running { .. }
            | Call::Succeeded { .. }
            | Call::Failed { .. } => None,
        };
        Self {
            call_id: request.call_id,
            idem_key: request.key.as_str(),
            status: call.status().map_or("", Status::as_str),
            is_final: call.is_final(),
            attempt: call.attempts(),
            result,
            error,
            query_url: query_url(request.call_id),
            tool: request.tool.as_str(),
            args: Json(&request.args),
            client_id: request.client_id.as_ref().map(ClientId::as_str),
            seq: request.seq,
            effect_id,
            held,
            version: snapshot.version.0,
            created_at: request.created_at,
            updated_at: snapshot.updated_at,
        }
    }
}

impl<'a> FailureView<'a> {
    fn of(failure: &'a Failure) -> Self {
        Self {
            code: &failure.code,
            message: &failure.message,
            retryable: failure.retryable,
            cause: failure.cause.as_deref(),
        }
    }
}

/// Where a call is found.
pub fn query_url(id: CallId) -> String {
    format!("/v1/tool-calls/{id}")
}

/// Some calls, and where to go on.
#[derive(Debug, Serialize)]
pub struct ListView {
    /// Each as a [`CallView`] is written, newest first.
    pub calls: Vec<Box<RawValue>>,
    /// Opaque; nothing if these were the last.
    pub next_cursor: Option<String>,
}

/// The events of a call.
#[derive(Debug, Serialize)]
pub struct EventsView<'a> {
    events: Vec<EventView<'a>>,
}

impl<'a> EventsView<'a> {
    /// The view of these events.
    pub fn of(events: &'a [Recorded]) -> Self {
        Self { events: events.iter().map(EventView::of).collect() }
    }
}

/// An event, as clients see it.
#[derive(Debug, Serialize)]
pub struct EventView<'a> {
    position: u64,
    version: u64,
    #[serde(serialize_with = "rfc3339")]
    at: Timestamp,
    event: &'static str,
    attempt: Option<u32>,
    detail: Option<Cow<'a, str>>,
    by: Option<&'a str>,
    evidence: Option<&'a str>,
}

impl<'a> EventView<'a> {
    /// The view of one event.
    pub fn of(recorded: &'a Recorded) -> Self {
        let event: &Event = &recorded.entry.event;
        Self {
            position: recorded.position.0,
            version: recorded.entry.version.0,
            at: event.at(),
            event: event.name(),
            attempt: event.attempt(),
            detail: recorded.detail(),
            by: event.by().map(Verdict::who),
            evidence: event.by().and_then(Verdict::evidence),
        }
    }
}

/// What is stored, in numbers.
#[derive(Debug, Serialize)]
pub struct StatsView {
    calls: u64,
    effects: u64,
    by_status: std::collections::BTreeMap<&'static str, u64>,
    attempts: std::collections::BTreeMap<u32, u64>,
    held: u64,
    lease_over: u64,
    oldest_pending_seconds: Option<f64>,
    position: u64,
    wal_bytes: u64,
}

impl StatsView {
    /// The view of the counters as of `now`.
    pub fn of(stats: &Stats, now: Timestamp) -> Self {
        Self {
            calls: stats.calls,
            effects: stats.effects,
            by_status: stats.by_status.iter().map(|(status, count)| (status.as_str(), *count)).collect(),
            attempts: stats.attempts.clone(),
            held: stats.held,
            lease_over: stats.lease_over,
            oldest_pending_seconds: stats.oldest_pending.map(|created| now.since(created).as_secs_f64()),
            position: stats.position.map_or(0, |position| position.0),
            wal_bytes: stats.wal_bytes,
        }
    }
}

/// A problem document (RFC 9457) that also says it the short way, in `error`.
#[derive(Debug, Serialize)]
pub struct ProblemView<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    differs: &'a [String],
    retryable: bool,
    error: ErrorView<'a>,
}

#[derive(Debug, Serialize)]
struct ErrorView<'a> {
    code: &'static str,
    message: &'a str,
}

impl<'a> ProblemView<'a> {
    /// The document that says `detail` under the stable `code`.
    pub fn new(
        code: &'static str,
        title: &'static str,
        status: u16,
        detail: &'a str,
        differs: &'a [String],
        retryable: bool,
    ) -> Self {
        let kind = format!("urn:callonce:error:{code}");
        Self { kind, title, status, detail, differs, retryable, error: ErrorView { code, message: detail } }
    }
}

/// Canonical JSON, written as it is.
#[derive(Debug)]
struct Json<'a>(&'a Canonical);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.0.as_str()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

fn text<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn optional_text<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// RFC 3339 in UTC with microseconds.
fn rfc3339<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_micros(SystemTime::from(*at)))
}

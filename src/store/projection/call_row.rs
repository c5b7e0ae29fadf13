//! A row of `calls`: from a snapshot, and back with proof that it is the row that was written.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checksum::checksum;
use super::{Snapshot, StoreError};
use crate::domain::call::{Attempt, Call, Effect, Failure, Request, Status};
use crate::domain::event::Interruption;
use crate::domain::fingerprint;
use crate::domain::id::{CallId, ClientId, IdemKey, Owner, ToolName, Version};
use crate::domain::json::Canonical;
use crate::domain::time::Timestamp;
use crate::store::chain::ChainHash;

/// A row of `calls`. The columns mean what they mean in the table; times are in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow<'a> {
    /// What is fixed when the call is created.
    pub fixed: FixedColumns<'a>,
    /// What its events change.
    pub state: StateColumns<'a>,
    /// Over all of the above.
    pub checksum: i64,
}

/// The columns that are written once.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the columns are explained in schema.sql")]
pub struct FixedColumns<'a> {
    pub call_id: Cow<'a, str>,
    pub idem_key: &'a str,
    pub fingerprint: Cow<'a, str>,
    pub fingerprint_scheme: i64,
    pub client_id: Option<&'a str>,
    pub seq: Option<i64>,
    pub tool: &'a str,
    pub args_json: &'a str,
    pub created_at: f64,
}

/// The columns that are written with each event.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the columns are explained in schema.sql")]
pub struct StateColumns<'a> {
    pub status: &'a str,
    pub result_json: Option<&'a str>,
    pub error_json: Option<Cow<'a, str>>,
    pub attempt: i64,
    pub lease_until: Option<f64>,
    pub owner: Option<&'a str>,
    pub effect_id: Option<Cow<'a, str>>,
    pub effect_amount: Option<i64>,
    pub updated_at: f64,
    pub version: i64,
    pub chain: &'a [u8],
    pub held_since: Option<f64>,
    pub held_reason: Option<&'a str>,
    pub due_at: Option<f64>,
    pub open_attempt: Option<i64>,
}

/// What `error_json` holds; the members in the order of the canonical form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cause: Option<Cow<'a, str>>,
    code: Cow<'a, str>,
    message: Cow<'a, str>,
    retryable: bool,
}

impl<'a> CallRow<'a> {
    /// The row of this call; none for a call that has no event yet.
    pub fn of(snapshot: &'a Snapshot) -> Option<Self> {
        let request = snapshot.call.request()?;
        let fixed = FixedColumns::of(request);
        let state = StateColumns::of(snapshot, request);
        Some(Self { checksum: checksum(&fixed, &state), fixed, state })
    }

    /// The call that this row shows.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the row is not exactly what the call it shows would be written as.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let corrupt = |problem: String| {
            StoreError::Corrupt(format!("the row of the call {} {problem}", self.fixed.call_id))
        };
        if checksum(&self.fixed, &self.state) != self.checksum {
            return Err(corrupt("does not match its checksum".into()));
        }
        let snapshot = self.read().map_err(corrupt)?;
        match self.shows(&snapshot) {
            true => Ok(snapshot),
            false => Err(corrupt("mixes columns of different states".into())),
        }
    }

    fn shows(&self, snapshot: &Snapshot) -> bool {
        snapshot.call.request().is_some_and(|request| {
            FixedColumns::of(request) == self.fixed && StateColumns::of(snapshot, request) == self.state
        })
    }

    fn read(&self) -> Result<Snapshot, String> {
        let chain = self.state.chain.try_into().map_err(|_| "has a chain hash of the wrong length")?;
        Ok(Snapshot {
            call: self.state.call(Arc::new(self.fixed.request()?))?,
            version: Version(self.state.version.cast_unsigned()),
            updated_at: Timestamp::from_seconds(self.state.updated_at),
            chain: ChainHash::from_bytes(chain),
        })
    }
}

impl<'a> FixedColumns<'a> {
    /// These columns of the call that `request` created.
    pub fn of(request: &'a Request) -> Self {
        Self {
            call_id: request.call_id.to_string().into(),
            idem_key: request.key.as_str(),
            fingerprint: hex(request.fingerprint.as_bytes()).into(),
            fingerprint_scheme: fingerprint::SCHEME.into(),
            client_id: request.client_id.as_ref().map(ClientId::as_str),
            // SQLite's integers are signed; the same 64 bits come back as the same number.
            seq: request.seq.map(u64::cast_signed),
            tool: request.tool.as_str(),
            args_json: request.args.as_str(),
            created_at: request.created_at.as_seconds(),
        }
    }

    fn request(&self) -> Result<Request, String> {
        Ok(Request {
            call_id: parse("call_id", CallId::from_str(&self.call_id))?,
            key: parse("idem_key", IdemKey::parse(self.idem_key))?,
            tool: parse("tool", ToolName::parse(self.tool))?,
            args: parse("args_json", Canonical::parse(self.args_json))?,
            fingerprint: parse("fingerprint", self.fingerprint.parse())?,
            client_id: self.client_id.map(|text| parse("client_id", ClientId::parse(text))).transpose()?,
            seq: self.seq.map(i64::cast_unsigned),
            created_at: Timestamp::from_seconds(self.created_at),
        })
    }
}

impl<'a> StateColumns<'a> {
    /// These columns of a call of `request`.
    pub fn of(snapshot: &'a Snapshot, request: &Request) -> Self {
        let mut columns = Self {
            status: snapshot.call.status().map_or("", Status::as_str),
            result_json: None,
            error_json: None,
            attempt: snapshot.call.attempts().into(),
            lease_until: None,
            owner: None,
            effect_id: None,
            effect_amount: None,
            updated_at: snapshot.updated_at.as_seconds(),
            version: snapshot.version.0.cast_signed(),
            chain: snapshot.chain.as_bytes(),
            held_since: None,
            held_reason: None,
            due_at: None,
            open_attempt: snapshot.call.open_attempt().map(|open| open.side_effect.into()),
        };
        match &snapshot.call {
            Call::Absent => {}
            Call::Pending { due, .. } => columns.due_at = due.map(Timestamp::as_seconds),
            Call::Running { owner, lease_until, .. } => {
                columns.owner = Some(owner.as_str());
                columns.lease_until = Some(lease_until.as_seconds());
            }
            Call::Held { since, reason, .. } => {
                columns.held_since = Some(since.as_seconds());
                columns.held_reason = Some(reason.as_str());
            }
            Call::Succeeded { result, effect, .. } => {
                columns.result_json = Some(result.as_str());
                columns.effect_id = effect.map(|_| request.effect_id().to_string().into());
                columns.effect_amount = effect.and_then(|effect| effect.amount);
            }
            Call::Failed { error, .. } => columns.error_json = Some(error_json(error).into()),
        }
        columns
    }

    fn call(&self, request: Arc<Request>) -> Result<Call, String> {
        let attempts = parse("attempt", u32::try_from(self.attempt))?;
        let open = self.open_attempt.map(|owes| Attempt { number: attempts, side_effect: owes != 0 });
        let running = || open.ok_or("is running without an attempt");
        Ok(match (Status::parse(self.status), self.held_since) {
            (Some(Status::Pending), _) => {
                Call::Pending { request, attempts, open, due: self.due_at.map(Timestamp::from_seconds) }
            }
            (Some(Status::Running), None) => Call::Running {
                request,
                attempt: running()?,
                owner: parse("owner", Owner::parse(self.owner.unwrap_or_default()))?,
                lease_until: Timestamp::from_seconds(self.lease_until.ok_or("is running without a lease")?),
            },
            (Some(Status::Running), Some(since)) => Call::Held {
                request,
                attempt: running()?,
                since: Timestamp::from_seconds(since),
                reason: self
                    .held_reason
                    .and_then(Interruption::parse)
                    .ok_or("is held for a reason that is none")?,
            },
            (Some(Status::Succeeded), _) => Call::Succeeded {
                request,
                attempts,
                result: parse("result_json", Canonical::parse(self.result_json.unwrap_or_default()))?,
                effect: self.effect_id.as_ref().map(|_| Effect { amount: self.effect_amount }),
            },
            (Some(Status::Failed), _) => {
                let json = self.error_json.as_deref().ok_or("failed without an error")?;
                Call::Failed { request, attempts, error: failure(json)? }
            }
            (None, _) => return Err(format!("has the unknown status `{}`", self.status)),
        })
    }
}

fn parse<T, E: fmt::Display>(column: &str, parsed: Result<T, E>) -> Result<T, String> {
    parsed.map_err(|problem| format!("has an impossible {column}: {problem}"))
}

fn error_json(error: &Failure) -> String {
    let json = ErrorJson {
        cause: error.cause.as_deref().map(Cow::Borrowed),
        code: error.code.as_str().into(),
        message: error.message.as_str().into(),
        retryable: error.retryable,
    };
    serde_json::to_string(&json).expect("three texts and a bool are always JSON")
}

fn failure(json: &str) -> Result<Failure, String> {
    let error: ErrorJson<'_> = parse("error_json", serde_json::from_str(json))?;
    Ok(Failure {
        code: error.code.into_owned(),
        message: error.message.into_owned(),
        retryable: error.retryable,
        cause: error.cause.map(Cow::into_owned),
    })
}

/// Lower-case hex. Written out because a fingerprint is turned into text for every append.
fn hex(bytes: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

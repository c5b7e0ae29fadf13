//! Where a command looks: a database file, read beside a running server, or the server itself.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::exit::{Exit, Failure};
use crate::domain::id::{CallId, IdemKey, Position, Version};
use crate::engine::clock::Clock;
use crate::http::client::{Answer, Ask, Client, ClientError, Disbelief, Problem, Seen, by_key, object};
use crate::http::wire;
use crate::store::past::{Past, Rewind, no_such_version};
use crate::store::sqlite::{OpenError, SqliteReader};
use crate::store::{Filter, Recorded, StoreError};

/// Where a server listens unless it is told otherwise.
const DEFAULT_BASE: &str = "http://127.0.0.1:8081";
/// How long a look may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How many rows are read at once.
const PAGE: usize = 500;

/// Where to look.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Source {
    /// Read this database file, also beside a running server.
    #[arg(long, value_name = "FILE", conflicts_with = "base")]
    db: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

/// Which server to ask.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Server {
    /// Ask the server at this address [env: CALLONCE_BASE] [default: http://127.0.0.1:8081]
    #[arg(long, value_name = "URL")]
    base: Option<String>,
}

/// Which call to look at.
#[derive(Debug, Clone)]
pub(super) enum Named {
    Id(CallId),
    Key(IdemKey),
}

/// An opened [`Source`].
pub(super) enum Opened {
    Db(SqliteReader),
    Base(Client),
}

impl Named {
    /// As it was typed: clap sees to it that one of the two is there.
    pub(super) fn typed(id: Option<CallId>, key: Option<IdemKey>) -> Result<Self, Failure> {
        let nameless = || Failure::new(Exit::Usage, "name a call by its ID or by --key");
        id.map(Self::Id).or(key.map(Self::Key)).ok_or_else(nameless)
    }
}

impl Server {
    /// The address that was asked for, be it in the environment.
    pub(super) fn given(&self) -> Option<String> {
        // Not clap's own: to clap an address in the environment would contradict a typed --db.
        let environment = || std::env::var("CALLONCE_BASE").ok().filter(|base| !base.is_empty());
        self.base.clone().or_else(environment)
    }

    pub(super) fn open(&self) -> Result<Client, Failure> {
        Client::new(self.given().as_deref().unwrap_or(DEFAULT_BASE)).map_err(Into::into)
    }
}

impl Source {
    pub(super) fn open(&self) -> Result<Opened, Failure> {
        match &self.db {
            Some(path) => Ok(Opened::Db(SqliteReader::open(path)?)),
            None => Ok(Opened::Base(self.server.open()?)),
        }
    }
}

impl Opened {
    /// The call as JSON.
    pub(super) async fn call(&self, named: &Named) -> Result<String, Failure> {
        match self {
            Self::Db(db) => {
                let found = match named {
                    Named::Id(id) => db.load(*id).await?,
                    Named::Key(key) => db.find(key).await?,
                };
                let snapshot = found.ok_or_else(not_found)?;
                Ok(json(&wire::CallView::of(&snapshot)))
            }
            Self::Base(client) => match named {
                Named::Id(id) => Ok(look_at(client, *id, "").await?.body),
                Named::Key(key) => {
                    let body = look(client, &by_key(key)).await?;
                    Ok(Seen::of(key, body)?.body)
                }
            },
        }
    }

    /// Settles a held call by the server; returns the call as JSON. A file is changed by whoever holds its lock, not here.
    pub(super) async fn resolve(&self, named: &Named, body: String) -> Result<String, Failure> {
        let Self::Base(client) = self else {
            return Err(Failure::new(Exit::Usage, "a reader of a file settles nothing"));
        };
        let id = match named {
            Named::Id(id) => *id,
            Named::Key(key) => self.id_of(key.clone()).await?,
        };
        let path = format!("/v1/tool-calls/{id}/resolve");
        let answer = client.ask(Ask { body: Some(body), ..Ask::post(&path) }, TIMEOUT).await?;
        match answer.status {
            200 => Ok(expect_call(id, answer.body)?.body),
            _ => Err(refusal(&answer)),
        }
    }

    /// The id of the call with this key.
    pub(super) async fn id_of(&self, key: IdemKey) -> Result<CallId, Failure> {
        let seen = Seen::of(&key, self.call(&Named::Key(key.clone())).await?)?;
        seen.call_id.parse().map_err(|problem| not_ours(&format!("its call has no id of ours: {problem}")))
    }

    /// The call as JSON, as it was at a version.
    pub(super) async fn call_at(&self, id: CallId, version: Version) -> Result<String, Failure> {
        match self {
            Self::Db(db) => {
                let mut rewind = Rewind::to(version);
                while let Some((after, limit)) = rewind.wants() {
                    rewind.take(&db.history(id, after, limit).await?)?;
                }
                match rewind.outcome() {
                    Past::Was(snapshot) => Ok(json(&wire::CallView::of(&snapshot))),
                    Past::NoCall => Err(not_found()),
                    Past::NoVersion { asked, last } => {
                        let problem = no_such_version(asked, last);
                        Err(Failure::new(Exit::NotFound, format!("not_found: {problem}")))
                    }
                }
            }
            Self::Base(client) => Ok(look_at(client, id, &format!("?at={version}")).await?.body),
        }
    }

    /// Calls as JSON, newest first, at most `limit`.
    pub(super) async fn list(&self, filter: &Filter, limit: usize) -> Result<Vec<Box<RawValue>>, Failure> {
        let mut rows = Vec::new();
        match self {
            Self::Db(db) => {
                let mut before = None;
                while rows.len() < limit {
                    let page = db.list(filter, before, PAGE.min(limit - rows.len())).await?;
                    let Some(oldest) = page.last().and_then(|snapshot| snapshot.call.request()) else {
                        break;
                    };
                    before = Some(oldest.call_id);
                    rows.extend(page.iter().map(|snapshot| raw(&wire::CallView::of(snapshot))));
                }
            }
            Self::Base(client) => {
                #[derive(Deserialize)]
                struct Page {
                    calls: Vec<Box<RawValue>>,
                    next_cursor: Option<String>,
                }
                let mut cursor = None;
                while rows.len() < limit {
                    let path = list_path(filter, PAGE.min(limit - rows.len()), cursor.as_deref());
                    let body = look(client, &path).await?;
                    let page: Page = object(&body)?;
                    for call in &page.calls {
                        Seen::read(call.get().into())?;
                    }
                    rows.extend(page.calls);
                    cursor = page.next_cursor;
                    if cursor.is_none() {
                        break;
                    }
                }
            }
        }
        Ok(rows)
    }

    /// The counters as JSON.
    pub(super) async fn stats(&self) -> Result<String, Failure> {
        match self {
            Self::Db(db) => {
                let now = Clock::System.now();
                Ok(json(&wire::StatsView::of(&db.stats(now).await?, now)))
            }
            Self::Base(client) => {
                #[derive(Deserialize)]
                struct Counters {
                    #[serde(rename = "calls")]
                    _calls: u64,
                    #[serde(rename = "effects")]
                    _effects: u64,
                }
                let body = look(client, "/stats").await?;
                object::<Counters>(&body)?;
                Ok(body)
            }
        }
    }

    /// The events of a call, or of the whole log, each handed to `show` as JSON.
    pub(super) async fn events(
        &self,
        id: Option<CallId>,
        mut show: impl FnMut(Box<RawValue>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match (self, id) {
            (Self::Db(db), Some(id)) => {
                let mut after = Version::NONE;
                loop {
                    let page = db.history(id, after, PAGE).await?;
                    let Some(last) = page.last() else { break };
                    after = last.entry.version;
                    // As the server shows them: whose they are is known.
                    page.iter().try_for_each(|recorded| show(raw(&wire::EventView::of(recorded))))?;
                }
                if after == Version::NONE { Err(not_found()) } else { Ok(()) }
            }
            (Self::Db(db), None) => {
                let mut after = Position::START;
                loop {
                    let page = db.scan(after, PAGE).await?;
                    let Some(last) = page.last() else { return Ok(()) };
                    after = last.position;
                    page.iter().try_for_each(|recorded| show(raw(&line(recorded))))?;
                }
            }
            (Self::Base(client), Some(id)) => {
                #[derive(Deserialize)]
                struct Events {
                    events: Vec<Box<RawValue>>,
                }
                #[derive(Deserialize)]
                struct Event {
                    #[serde(rename = "version")]
                    _version: u64,
                    #[serde(rename = "event")]
                    _event: String,
                }
                let body = look(client, &format!("/v1/tool-calls/{id}/events")).await?;
                let found: Events = object(&body)?;
                found.events.iter().try_for_each(|event| object::<Event>(event.get()).map(drop))?;
                found.events.into_iter().try_for_each(show)
            }
            (Self::Base(_), None) => Err(Failure::new(
                Exit::Usage,
                "a server shows the events of one call: name its ID, or read the whole log with --db FILE",
            )),
        }
    }
}

/// An event with the call it belongs to, which matters where many calls are shown.
#[derive(serde::Serialize)]
struct Line<'a> {
    call_id: String,
    #[serde(flatten)]
    event: wire::EventView<'a>,
}

fn line(recorded: &Recorded) -> Line<'_> {
    Line { call_id: recorded.entry.call_id.to_string(), event: wire::EventView::of(recorded) }
}

fn list_path(filter: &Filter, limit: usize, cursor: Option<&str>) -> String {
    let encode = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let pairs = [
        Some(format!("limit={limit}")),
        filter.status.map(|status| format!("status={status}")),
        filter.tool.as_ref().map(|tool| format!("tool={}", encode(tool.as_str()))),
        filter.client_id.as_ref().map(|client| format!("client_id={}", encode(client.as_str()))),
        filter.held.map(|held| format!("held={held}")),
        cursor.map(|cursor| format!("cursor={}", encode(cursor))),
    ];
    format!("/v1/tool-calls?{}", pairs.into_iter().flatten().collect::<Vec<_>>().join("&"))
}

async fn look(client: &Client, path: &str) -> Result<String, Failure> {
    let answer = client.ask(Ask::get(path), TIMEOUT).await?;
    match answer.status {
        200 => Ok(answer.body),
        _ => Err(refusal(&answer)),
    }
}

/// The call with this id, with a query.
async fn look_at(client: &Client, id: CallId, query: &str) -> Result<Seen, Failure> {
    expect_call(id, look(client, &format!("/v1/tool-calls/{id}{query}")).await?)
}

fn expect_call(id: CallId, body: String) -> Result<Seen, Failure> {
    let seen = Seen::read(body)?;
    match seen.call_id == id.to_string() {
        true => Ok(seen),
        false => Err(not_ours(&format!("the answer is another call, {:?}", seen.call_id))),
    }
}

/// What an answer that is not a success means to a command.
pub(super) fn refusal(answer: &Answer) -> Failure {
    let status = answer.status;
    let problem = Problem::read(answer);
    let exit = match &problem {
        Some(problem) if status == 404 && problem.is_no_such_call() => Exit::NotFound,
        Some(problem) if status == 409 && problem.code == "idempotency_conflict" => Exit::Conflict,
        // The server, or something in front of it, was too slow or too busy: that says nothing about the request.
        _ if matches!(status, 408 | 429) => Exit::Open,
        _ if matches!(status, 300..=499) => Exit::Usage,
        _ => Exit::Open,
    };
    match problem {
        // A server of ours, but not at this path.
        Some(Problem { code, message, .. }) if status == 404 && exit == Exit::Usage => {
            not_ours(&format!("{code}: {message}"))
        }
        Some(Problem { code, message, .. }) => Failure::new(exit, format!("{code}: {message}")),
        None if exit == Exit::Usage => {
            not_ours(&format!("the server answered {status}, and not in the words of callonce"))
        }
        None => Failure::new(exit, format!("the server answered {status}")),
    }
}

/// Whatever answers, it is not what was asked for.
fn not_ours(problem: &str) -> Failure {
    Failure::new(Exit::Usage, format!("{problem}; is --base the address of a callonce server?"))
}

impl From<Disbelief> for Failure {
    fn from(problem: Disbelief) -> Self {
        not_ours(&problem.to_string())
    }
}

fn json(view: &impl serde::Serialize) -> String {
    raw(view).get().to_string()
}

/// One of our own views, as JSON.
pub(super) fn raw(view: &impl serde::Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(view).expect("our own views are always JSON")
}

pub(super) fn not_found() -> Failure {
    Failure::new(Exit::NotFound, "not_found: no such call: it was not accepted so far")
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(Exit::Storage, error.to_string())
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let exit = match &error {
            OpenError::Locked { .. } => Exit::Locked,
            OpenError::Storage { .. } | OpenError::DataLoss { .. } | OpenError::Full { .. } => Exit::Storage,
            OpenError::Refused { .. } => Exit::Config,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let exit = match &error {
            ClientError::Invalid(_) => Exit::Usage,
            ClientError::Unreachable { .. } => Exit::Unreachable,
            ClientError::Unknown { .. } => Exit::Open,
        };
        Self::new(exit, error.to_string())
    }
}

//! What happened in one scenario, told as it happens, and whether it was what the laws demand.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::history::{Call, History, Line};
use super::stage::{PATIENCE, Stage};
use crate::cli::exit::Failure;
use crate::cli::output::{Format, emit};
use crate::cli::source::raw;
use crate::cli::verify::FindingView;
use crate::domain::id::{IdemKey, Position};
use crate::http::chaos::evidence::Evidence;
use crate::http::client::{Answer, Ask, Client, ClientError};
use crate::http::wire;
use crate::store::sqlite::{SqliteReader, verify};

/// How long a client waits for an answer that does not come. Short, because every scenario with a silent network waits
/// this long; long, compared with what an answer takes.
pub(super) const TIMEOUT: Duration = Duration::from_millis(700);

/// The events of a scenario are a few dozen; more would be a finding in itself.
const MOST_EVENTS: usize = 10_000;

/// One scenario's story.
pub(super) struct Story {
    format: Format,
    told: Told,
    history: History,
}

/// A story as data.
#[derive(Serialize)]
pub(super) struct Told {
    scenario: &'static str,
    does: &'static str,
    steps: Vec<String>,
    tries: Vec<Line>,
    proxy: Vec<Evidence>,
    events: Vec<Box<RawValue>>,
    stats: Option<Box<RawValue>>,
    expected: Vec<Expected>,
    broken: Vec<Box<RawValue>>,
    pub(super) holds: bool,
}

/// Something that has to be so.
#[derive(Serialize)]
struct Expected {
    what: String,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
}

/// What a server says it has stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) calls: u64,
    pub(super) effects: u64,
}

impl Story {
    pub(super) fn begin(scenario: &'static str, does: &'static str, format: Format) -> Result<Self, Failure> {
        let told = Told {
            scenario,
            does,
            steps: vec![],
            tries: vec![],
            proxy: vec![],
            events: vec![],
            stats: None,
            expected: vec![],
            broken: vec![],
            holds: true,
        };
        let story = Self { format, told, history: History::default() };
        story.print(&format!("[chaos] {scenario}: {does}"))?;
        Ok(story)
    }

    fn print(&self, line: &str) -> Result<(), Failure> {
        match self.format {
            // Not `emit_next`: a scenario whose reader has gone is played to its end, and cleans up.
            Format::Table => emit(line),
            // Told when it is whole.
            Format::Json | Format::Ndjson => Ok(()),
        }
    }

    /// What is done now, for those who read along.
    pub(super) fn step(&mut self, step: impl Into<String>) -> Result<(), Failure> {
        let step = step.into();
        self.print(&format!("[chaos] {step}"))?;
        self.told.steps.push(step);
        Ok(())
    }

    /// Notes that a request is about to be sent.
    pub(super) fn sends(&mut self, key: &IdemKey, body: &str) -> Result<u32, Failure> {
        let number = self.history.sends(key, body);
        self.print_last()?;
        Ok(number)
    }

    /// Notes what came of it; the call, if one was acknowledged.
    pub(super) fn heard(
        &mut self,
        number: u32,
        key: &IdemKey,
        heard: &Result<Answer, ClientError>,
    ) -> Result<Option<Call>, Failure> {
        let call = self.history.heard(number, key, heard);
        self.print_last()?;
        Ok(call)
    }

    fn print_last(&self) -> Result<(), Failure> {
        self.history.last().map_or(Ok(()), |line| self.print(raw(line).get()))
    }

    /// Sends a call once; the call, if it was acknowledged within the time that a client of a bad network has.
    pub(super) async fn send(
        &mut self,
        client: &Client,
        key: &IdemKey,
        body: &str,
    ) -> Result<Option<Call>, Failure> {
        self.exchange(client, key, body, None, TIMEOUT).await
    }

    /// Sends a call once and waits for its end; the call, as it was answered.
    pub(super) async fn settle(
        &mut self,
        client: &Client,
        key: &IdemKey,
        body: &str,
    ) -> Result<Option<Call>, Failure> {
        self.exchange(client, key, body, Some(PATIENCE), PATIENCE).await
    }

    async fn exchange(
        &mut self,
        client: &Client,
        key: &IdemKey,
        body: &str,
        wait: Option<Duration>,
        timeout: Duration,
    ) -> Result<Option<Call>, Failure> {
        let number = self.sends(key, body)?;
        let heard = post(client, key, body, wait, timeout).await;
        self.heard(number, key, &heard)
    }

    /// What a proxy saw.
    pub(super) fn saw(&mut self, evidence: Evidence) -> Result<(), Failure> {
        self.print(raw(&evidence).get())?;
        self.told.proxy.push(evidence);
        Ok(())
    }

    /// Demands that these are the same.
    pub(super) fn expect<T: PartialEq + Serialize>(
        &mut self,
        what: impl Into<String>,
        found: T,
        wanted: T,
    ) -> Result<(), Failure> {
        let holds = found == wanted;
        let found = (!holds).then(|| format!("{} instead of {}", raw(&found), raw(&wanted)));
        self.verdict(Expected { what: what.into(), holds, found })
    }

    fn verdict(&mut self, expected: Expected) -> Result<(), Failure> {
        let Expected { what, holds, found } = &expected;
        let word = if *holds { "ok    " } else { "BROKEN" };
        let found = found.as_ref().map_or_else(String::new, |found| format!(": {found}"));
        self.print(&format!("{word} {what}{found}"))?;
        self.told.holds &= holds;
        self.told.expected.push(expected);
        Ok(())
    }

    /// What the server says it has stored.
    pub(super) async fn stats(&mut self, client: &Client) -> Result<Option<Counted>, Failure> {
        let Some(stats) = look(client, "/stats").await else { return Ok(None) };
        self.print(&stats)?;
        let counted = serde_json::from_str(&stats).ok();
        self.told.stats = RawValue::from_string(stats).ok();
        Ok(counted)
    }

    /// Stops the server, then judges: the history of the client, and every law on the database.
    pub(super) async fn judge(mut self, mut stage: Stage) -> Result<Told, Failure> {
        let stopped = stage.stop().await.and_then(|status| status.code());
        self.expect("the server stops when it is asked to", stopped, Some(0))?;
        let in_log = self.read_log(&stage).await?;
        let contradictions = self.history.contradictions(&in_log);
        self.expect("all that the client was told is true", contradictions, vec![])?;
        self.check_laws(&stage)?;
        self.told.tries = std::mem::take(&mut self.history).into_lines();
        let (scenario, verdict) = (self.told.scenario, if self.told.holds { "holds" } else { "IS BROKEN" });
        self.print(&format!("[chaos] {scenario} {verdict}"))?;
        self.print("")?;
        Ok(self.told)
    }

    /// Shows the log, and returns the calls that it knows.
    async fn read_log(&mut self, stage: &Stage) -> Result<BTreeSet<String>, Failure> {
        let log = match SqliteReader::open(&stage.database()) {
            Ok(reader) => reader.scan(Position::START, MOST_EVENTS).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let problem = log.as_ref().err().cloned();
        let log = log.unwrap_or_default();
        for recorded in &log {
            #[derive(Serialize)]
            struct Shown<'a> {
                call_id: String,
                #[serde(flatten)]
                event: wire::EventView<'a>,
            }
            let call_id = recorded.entry.call_id.to_string();
            let event = raw(&Shown { call_id, event: wire::EventView::of(recorded) });
            self.print(event.get())?;
            self.told.events.push(event);
        }
        self.expect("the log can be read", problem, None)?;
        Ok(log.iter().map(|recorded| recorded.entry.call_id.to_string()).collect())
    }

    fn check_laws(&mut self, stage: &Stage) -> Result<(), Failure> {
        let database = stage.database();
        let checked = tokio::task::block_in_place(|| verify::verify(&database, None, &|_, _| ()));
        match checked {
            Err(error) => self.expect("every law can be checked", error.to_string(), String::new()),
            Ok(report) => {
                self.expect("every law holds (callonce verify)", report.findings.count(), 0)?;
                for violation in report.findings.first() {
                    let finding = raw(&FindingView::of(violation));
                    self.print(finding.get())?;
                    self.told.broken.push(finding);
                }
                Ok(())
            }
        }
    }
}

/// Sends a call once, without a word to anybody.
pub(super) async fn post(
    client: &Client,
    key: &IdemKey,
    body: &str,
    wait: Option<Duration>,
    timeout: Duration,
) -> Result<Answer, ClientError> {
    let (path, body) = ("/v1/tool-calls", Some(body.to_owned()));
    client.ask(Ask { method: Method::POST, path, key: Some(key.as_str()), wait, body }, timeout).await
}

/// What a GET is answered with, if it is a success.
pub(super) async fn look(client: &Client, path: &str) -> Option<String> {
    let answer = client.ask(Ask::get(path), PATIENCE).await.ok()?;
    (answer.status == 200).then_some(answer.body)
}

/// A member of what a GET is answered with.
pub(super) async fn member(client: &Client, path: &str, name: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(&look(client, path).await?).ok()?;
    value.get(name).cloned()
}

//! `callonce resolve`: somebody knows what became of a held call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::exit::{Exit, Failure};
use super::output::{Output, emit_object};
use super::source::{Named, Opened, Server, raw};
use crate::domain::id::{CallId, IdemKey};
use crate::domain::json::{self, Canonical};
use crate::engine::tools::Registry;
use crate::engine::{Engine, EngineError, Settings, Settlement, Store};
use crate::http::settlement;
use crate::http::wire::CallView;
use crate::store::sqlite::{Options, SqliteReader, SqliteStore};

/// Settle a held call, once it is known what became of it.
///
/// A call is held when its last attempt may or may not have done what it was to do, and doing it again could double it. Ask
/// the downstream about the call's effect id (`callonce list --held` shows it), then say here what it knows. What you say, who
/// you are and the evidence stay in the log for good.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("name").required(true).args(["id", "key"])),
    group(ArgGroup::new("outcome").required(true).args(["happened", "not_happened", "abandon"]))
)]
pub(super) struct Resolve {
    /// The call's id.
    #[arg(value_name = "ID")]
    id: Option<CallId>,
    /// The call's idempotency key.
    #[arg(long, value_name = "K", value_parser = IdemKey::parse)]
    key: Option<IdemKey>,
    /// It happened: the call has succeeded.
    #[arg(long)]
    happened: bool,
    /// With --happened: what the tool answered, or would have, as JSON; null if nobody knows.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["not_happened", "abandon"], allow_hyphen_values = true,
          value_parser = result)]
    result: Option<Canonical>,
    /// It did not happen, and cannot any more: the call runs again, if it has an attempt left.
    #[arg(long)]
    not_happened: bool,
    /// Whatever happened, nobody will try again: the call has failed for good.
    #[arg(long)]
    abandon: bool,
    /// How it is known: the answer of the downstream, a ticket, a line of its log.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    evidence: String,
    /// Who says so.
    #[arg(long, value_name = "NAME", env = "USER", default_value = "operator")]
    who: String,
    /// Settle it in this file, whose server is stopped; what is to run again runs at the next start.
    #[arg(long, value_name = "FILE", conflicts_with = "base")]
    db: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    output: Output,
}

/// The body of the request, which a server and a file understand alike.
#[derive(Debug, serde::Serialize)]
struct Body<'a> {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a serde_json::value::RawValue>,
    who: &'a str,
    evidence: &'a str,
}

impl Resolve {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let body = self.body()?;
        let settlement = settlement::read(body.as_bytes())
            .map_err(|problem| Failure::new(Exit::Usage, format!("--evidence, --who: {problem}")))?;
        let named = Named::typed(self.id, self.key)?;
        let resolved = match &self.db {
            Some(database) => in_file(database, &named, settlement).await?,
            None => Opened::Base(self.server.open()?).resolve(&named, body).await?,
        };
        emit_object(&resolved, self.output.output)?;
        Ok(Exit::Done)
    }

    fn body(&self) -> Result<String, Failure> {
        let result = self.result.as_ref().map(Canonical::as_str).map(serde_json::from_str).transpose();
        let result = result.map_err(|problem| Failure::new(Exit::Usage, format!("--result: {problem}")))?;
        let outcome = match (self.happened, self.not_happened) {
            (true, _) => "happened",
            (false, true) => "not_happened",
            (false, false) => "abandoned",
        };
        Ok(raw(&Body { outcome, result, who: &self.who, evidence: &self.evidence }).get().into())
    }
}

/// Settles it in the file of a server that is stopped. Nothing runs: what is to run again waits for the next start.
async fn in_file(database: &Path, named: &Named, settlement: Settlement) -> Result<String, Failure> {
    // It has to be there, while a store would make it.
    drop(SqliteReader::open(database)?);
    let store = SqliteStore::open(database, Options::default())?;
    let engine = Engine::new(store, Registry::default(), Settings::default(), Arc::new(()))
        .map_err(|unfit| Failure::new(Exit::Config, unfit.to_string()))?;
    let resolved = resolve(&engine, named, settlement).await;
    engine.stop(Duration::ZERO).await;
    resolved
}

async fn resolve<S: Store>(
    engine: &Engine<S>,
    named: &Named,
    settlement: Settlement,
) -> Result<String, Failure> {
    let id = match named {
        Named::Id(id) => *id,
        Named::Key(key) => {
            let found = engine.find(key).await.map_err(refused)?;
            let request = found.as_ref().and_then(|snapshot| snapshot.call.request());
            request.map(|request| request.call_id).ok_or_else(super::source::not_found)?
        }
    };
    let resolved = engine.resolve(id, settlement).await.map_err(refused)?;
    Ok(raw(&CallView::of(&resolved)).get().into())
}

fn refused(error: EngineError) -> Failure {
    use crate::domain::refusal::Refusal;
    match error {
        EngineError::Refused(Refusal::NotFound) => super::source::not_found(),
        EngineError::Store(fault) => fault.into(),
        EngineError::Refused(refusal) => {
            Failure::new(Exit::Usage, format!("not_held: {refusal}, so there is nothing to settle"))
        }
        EngineError::Invalid(_) | EngineError::Overloaded | EngineError::Internal(_) => {
            Failure::new(Exit::Open, error.to_string())
        }
    }
}

fn result(typed: &str) -> Result<Canonical, String> {
    json::parse(typed.as_bytes()).map(|value| value.canonical()).map_err(|problem| problem.to_string())
}

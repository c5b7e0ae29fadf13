//! `callonce call`: one call, from its key to its result.

use std::collections::HashSet;
use std::time::Duration;

use clap::Args;
use reqwest::Method;
use serde::Deserialize;

use super::config::duration;
use super::exit::{Exit, Failure};
use super::output::{Output, emit_object, say};
use super::source::{Server, by_key, refusal};
use crate::domain::id::{ClientId, IdemKey, ToolName};
use crate::domain::json::{self, Value};
use crate::engine::clock::Stopwatch;
use crate::engine::ids;
use crate::http::client::{Answer, Ask, Client};

/// The longest wait a server grants for one answer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The shortest time between two looks at a call: what a server says in the `Retry-After` of a 202.
const PAUSE: Duration = Duration::from_secs(1);

/// Make one call and wait for its result.
///
/// The key is printed before anything is sent. If the outcome stays unknown, the same command with that --key settles it:
/// never send the same intention with another key.
#[derive(Debug, Args)]
pub(super) struct Call {
    /// The tool to run.
    #[arg(value_name = "TOOL", value_parser = ToolName::parse)]
    tool: ToolName,
    /// One argument; VALUE is JSON where it parses, else a string.
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = argument)]
    arg: Vec<(String, Value)>,
    /// All arguments, as a JSON object; empty for none.
    #[arg(long, value_name = "JSON", conflicts_with = "arg", value_parser = arguments)]
    args: Option<Value>,
    /// The key that names this call; a random one is made if it is not given.
    #[arg(long, value_name = "K", env = "CALLONCE_KEY", value_parser = IdemKey::parse)]
    key: Option<IdemKey>,
    /// Who sends it.
    #[arg(long, value_name = "CLIENT", value_parser = ClientId::parse)]
    client_id: Option<ClientId>,
    /// The client's own number for it.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(i64).range(0..=(1 << 53) - 1))]
    seq: Option<i64>,
    /// How long one answer may take, on top of what the server is asked to wait.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration,
          allow_hyphen_values = true)]
    timeout: Duration,
    /// How long to wait for the result.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration,
          allow_hyphen_values = true)]
    wait: Duration,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    output: Output,
}

/// What decides how a command ends.
#[derive(Deserialize)]
struct State {
    status: String,
    #[serde(rename = "final")]
    is_final: bool,
    held: Option<serde::de::IgnoredAny>,
}

impl State {
    /// Whether waiting longer changes nothing.
    fn is_settled(&self) -> bool {
        self.held.is_some() || !matches!(self.status.as_str(), "pending" | "running")
    }
}

impl Call {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        self.refuse_twice_the_same_argument()?;
        let client = self.server.open()?;
        let key = match &self.key {
            Some(key) => key.clone(),
            None => ids::key(),
        };
        say(&format!("key {key}"));
        let (call, state) = self.settle(&client, &key).await.map_err(|mut failure| {
            if failure.exit == Exit::Open {
                failure.message +=
                    &format!("; the outcome is unknown: repeat the command with --key '{key}' to settle it");
            }
            failure
        })?;
        emit_object(&call, self.output.output)?;
        Ok(match (state.status.as_str(), state.is_final) {
            ("succeeded", _) => Exit::Done,
            ("failed", true) => Exit::Failed,
            ("failed", false) => Exit::Retryable,
            _ => {
                let why = if state.held.is_some() {
                    "it is held: its outcome is unknown"
                } else {
                    "it is still open"
                };
                say(&format!("{why}; look again with: callonce get --key '{key}'"));
                Exit::Open
            }
        })
    }

    /// As in JSON: of two values of one name, none can be the one that was meant.
    fn refuse_twice_the_same_argument(&self) -> Result<(), Failure> {
        let mut names = HashSet::new();
        match self.arg.iter().find(|(name, _)| !names.insert(name)) {
            Some((name, _)) => {
                Err(Failure::new(Exit::Usage, format!("--arg {name} is given more than once")))
            }
            None => Ok(()),
        }
    }

    /// Sends the call, then waits for it to settle. Returns it as it was last seen.
    async fn settle(&self, client: &Client, key: &IdemKey) -> Result<(String, State), Failure> {
        let watch = Stopwatch::start();
        let left = || self.wait.saturating_sub(watch.elapsed());
        let post = Ask {
            method: Method::POST,
            path: "/v1/tool-calls",
            key: Some(key.as_str()),
            wait: Some(left().min(LONGEST_WAIT)),
            body: Some(self.body()),
        };
        let mut asked = Stopwatch::start();
        let mut seen = understand(client.ask(post, self.timeout).await?)?;
        let path = by_key(key);
        while !seen.1.is_settled() && !left().is_zero() {
            // Whatever does not wait as it is asked to, a proxy for instance, is not asked without end.
            tokio::time::sleep(PAUSE.saturating_sub(asked.elapsed()).min(left())).await;
            asked = Stopwatch::start();
            let ask = Ask { wait: Some(left().min(LONGEST_WAIT)), ..Ask::get(&path) };
            let answer = client.ask(ask, self.timeout).await.map_err(Failure::from);
            // The call was accepted: whatever goes wrong from here on, what became of it is what stays unknown.
            seen = answer.and_then(understand).map_err(|failure| Failure { exit: Exit::Open, ..failure })?;
        }
        Ok(seen)
    }

    fn body(&self) -> String {
        let args = self.args.clone().unwrap_or_else(|| Value::Object(self.arg.clone()));
        let mut members =
            vec![("args".to_string(), args), ("tool".to_string(), Value::String(self.tool.as_str().into()))];
        if let Some(client_id) = &self.client_id {
            members.push(("client_id".into(), Value::String(client_id.as_str().into())));
        }
        if let Some(seq) = self.seq {
            members.push(("seq".into(), Value::from(seq)));
        }
        Value::Object(members).canonical().as_str().into()
    }
}

/// The call that was answered, and what decides about it.
fn understand(answer: Answer) -> Result<(String, State), Failure> {
    match answer.status {
        200 | 202 => {
            let state = serde_json::from_str(&answer.body)
                .map_err(|error| Failure::new(Exit::Open, format!("the answer is not a call: {error}")))?;
            Ok((answer.body, state))
        }
        // Not that there is no such call: a server of ours has the route.
        404 => Err(Failure { exit: Exit::Usage, ..refusal(&answer) }),
        _ => Err(refusal(&answer)),
    }
}

fn argument(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = json::parse(value.as_bytes()).unwrap_or_else(|_| Value::String(value.into()));
    Ok((name.into(), value))
}

/// All arguments as a JSON object; none where nothing was typed.
pub(super) fn arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(vec![]));
    }
    let args = json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    match args.as_object() {
        Some(_) => Ok(args),
        None => Err(format!("expected an object, found {}", args.kind_name())),
    }
}

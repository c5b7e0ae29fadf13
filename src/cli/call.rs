//! `callonce call`: one call, from its key to its result.

use std::time::Duration;

use clap::Args;

use super::again::Again;
use super::args::Arguments;
use super::config::duration;
use super::exit::{Exit, Failure};
use super::harm::Harm;
use super::here::Here;
use super::output::{Output, emit_object, say};
use super::source::{Server, refusal};
use crate::domain::call::Status;
use crate::domain::id::{ClientId, IdemKey, ToolName};
use crate::engine::clock::Stopwatch;
use crate::engine::ids;
use crate::http::client::{
    Answer, Client, GaveUp, Intent, LostSight, Retry, Seen, Submitted, Surroundings, Try,
};

/// Make one call and wait for its result.
///
/// The key is printed before anything is sent, and is the same on every retry. What is retried: timeouts, broken
/// connections, 429 and 503, with growing random pauses and as the server asks in Retry-After. If no try is answered, the
/// call is looked up by its key. If the outcome stays unknown, the command that settles it is printed: it has the same key.
/// Never send the same intention with another key.
///
/// Exits with 0 if it succeeded, 1 if it failed for good, 7 if it failed and the same key may try again, 3 if the key
/// belongs to another request, 5 if the outcome is still open or unknown, and 69 if nothing was ever sent.
#[derive(Debug, Args)]
pub(super) struct Call {
    /// The tool to run.
    #[arg(value_name = "TOOL", value_parser = ToolName::parse)]
    tool: ToolName,
    #[command(flatten)]
    arguments: Arguments,
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
    /// How often to send it again, with the same key, while there is no answer.
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(0..=MOST_RETRIES))]
    retries: u32,
    /// How long to wait for the result.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration,
          allow_hyphen_values = true)]
    wait: Duration,
    /// Show the harm: make a new key for each retry, and so another call. Never do this in earnest
    #[arg(long)]
    new_key_on_retry: bool,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    output: Output,
}

/// Beyond this a number of retries is a typing error.
const MOST_RETRIES: i64 = 1000;

impl Call {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let args = self.arguments.read()?;
        let client = self.server.open()?;
        let mut intent = Intent {
            key: self.key.clone().unwrap_or_else(ids::key),
            tool: self.tool.clone(),
            args,
            client_id: self.client_id.clone(),
            seq: self.seq,
        };
        say(&format!("key {}", intent.key));
        let retry = Retry { retries: self.retries, timeout: self.timeout, ..Retry::default() };
        let mut here = Here::telling(tell);
        let settled = match self.new_key_on_retry.then(Harm::begin) {
            None => {
                let watch = Stopwatch::start();
                let submitted = client.submit(&intent, retry, &mut here).await;
                self.settle(&client, &intent, submitted, watch, retry, &mut here).await
            }
            Some(mut harm) => {
                let watch = Stopwatch::start();
                let submitted = harm.submit(&client, &mut intent, retry, &mut here).await;
                let settled = self.settle(&client, &intent, submitted, watch, retry, &mut here).await;
                harm.tell(&client, &intent, retry, self.server.given().as_deref()).await;
                settled
            }
        };
        self.show(&intent, settled)
    }

    /// Waits until the call that was submitted settles. Returns it as it was last seen.
    async fn settle(
        &self,
        client: &Client,
        intent: &Intent,
        submitted: Result<Submitted, GaveUp>,
        watch: Stopwatch,
        retry: Retry,
        here: &mut impl Surroundings,
    ) -> Result<Seen, Failure> {
        let seen = match submitted? {
            Submitted::Accepted(seen) => seen,
            Submitted::Found(seen) => {
                say("no try was answered, but the server has the call");
                seen
            }
            Submitted::Refused { answer, may_be_accepted } => return Err(refused(&answer, may_be_accepted)),
        };
        let left = self.wait.saturating_sub(watch.elapsed());
        Ok(client.follow(intent, seen, left, retry, here).await?)
    }

    /// Shows what became of the call, and what to do about it.
    fn show(&self, intent: &Intent, settled: Result<Seen, Failure>) -> Result<Exit, Failure> {
        let base = self.server.given();
        let again = Again { intent, typed_args: self.arguments.file(), base: base.as_deref() };
        let seen = settled.map_err(|mut failure| {
            if failure.exit == Exit::Open {
                failure.message += &format!(
                    "; the outcome is unknown. Repeat with the same key, never with another, to settle it:\n  {}",
                    again.call()
                );
            }
            failure
        })?;
        emit_object(&seen.body, self.output.output)?;
        Ok(match (seen.status, seen.is_final) {
            (Status::Succeeded, _) => Exit::Done,
            (Status::Failed, true) => Exit::Failed,
            (Status::Failed, false) => {
                say(&format!("it failed, and the same key may try again:\n  {}", again.call()));
                Exit::Retryable
            }
            (Status::Pending | Status::Running, _) => {
                let why = match seen.is_held {
                    true => "it is held: what it did is unknown, and it is not run again by itself",
                    false => "it is still open",
                };
                say(&format!("{why}; look again with:\n  {}", again.look()));
                Exit::Open
            }
        })
    }
}

/// Tells of a try that is followed by another.
fn tell(tried: &Try) {
    let Some(pause) = tried.pause else { return };
    let ended = match (&tried.error, tried.status) {
        (Some(error), _) => error.clone(),
        (None, status) => format!("the server answered {}", status.unwrap_or_default()),
    };
    let number = tried.number;
    say(&format!("try {number}: {ended}; retry {number} in {} ms", pause.as_millis()));
}

/// What it means to the call that a server answered like this.
fn refused(answer: &Answer, may_be_accepted: bool) -> Failure {
    let failure = refusal(answer);
    let exit = if may_be_accepted {
        // The tries before this one may have got through to a server that this answer is not from.
        Exit::Open
    } else if failure.exit == Exit::NotFound {
        // Not that there is no such call: a server of ours has the route.
        Exit::Usage
    } else if failure.exit == Exit::Usage && answer.status == 409 {
        // Whatever it conflicts with, it is not known to be another request.
        Exit::Open
    } else {
        failure.exit
    };
    Failure { exit, ..failure }
}

impl From<GaveUp> for Failure {
    fn from(gave_up: GaveUp) -> Self {
        match gave_up {
            GaveUp::NeverSent(error) => error.into(),
            GaveUp::OtherRequest => Self::new(Exit::Conflict, gave_up.to_string()),
            GaveUp::Unknown { .. } | GaveUp::Disbelieved { .. } => Self::new(Exit::Open, gave_up.to_string()),
        }
    }
}

impl From<LostSight> for Failure {
    fn from(lost: LostSight) -> Self {
        Self::new(Exit::Open, lost.to_string())
    }
}

//! The server under test: the real `serve` command in a process of its own, with two more tools that have a real downstream.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use callonce::domain::json::Value;
use callonce::engine::tools::{
    Failure, Interrupted, InvalidArgs, Invocation, Outcome, Registry, Running, Terms, Tool,
};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::ledger::Kind;
use crate::process::{Process, ends_with_its_starter, role, told};

const LEDGER: &str = "CALLONCE_SURVIVAL_LEDGER";
/// Set by the control whose server thinks that a downstream honours effect ids when it does not.
pub const CARELESS: &str = "CALLONCE_SURVIVAL_CARELESS";

/// A server that was started: it may still recover.
pub struct Server {
    pub process: Process,
}

/// How to start one.
pub fn command(database: &Path, address: SocketAddr, ledger: SocketAddr) -> Command {
    let mut command = role("server");
    command.env("CALLONCE_DB", database).env("CALLONCE_LISTEN", address.to_string());
    command.env("CALLONCE_LOG", "warn").env(LEDGER, ledger.to_string());
    command
}

impl Server {
    pub fn start(command: Command) -> Self {
        Self { process: Process::start("the server", command) }
    }

    /// Waits until it listens.
    pub fn listens(&mut self) {
        let greeting = |words: &str| is_greeting(words).then_some(());
        self.process.hear_from("it listens", greeting);
    }

    /// Waits for whatever comes first; whether it listens.
    pub fn listens_or_ends(&mut self) -> bool {
        self.process.hear("it listens or ends", |words| is_greeting(words).then_some(())).is_some()
    }

    /// Ends it as `kill -9` does; whether that, or its own like, was its end.
    pub fn kill(&mut self) -> bool {
        self.process.signal(Signal::KILL);
        let status = self.process.ends();
        std::os::unix::process::ExitStatusExt::signal(&status) == Some(Signal::KILL.as_raw())
    }

    /// Of a server that has ended and was never waited for to listen: whether it did.
    pub fn has_listened(&self) -> bool {
        self.process.unheard().iter().any(|words| is_greeting(words))
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(&mut self) {
        self.process.signal(Signal::TERM);
        let status = self.process.ends();
        assert!(status.success(), "the server stopped with {status}: {:?}", self.process.last_words());
    }
}

fn is_greeting(words: &str) -> bool {
    words.contains("listening on http://")
}

/// The role: serves until it is stopped or killed.
pub fn serves() {
    ends_with_its_starter();
    let ledger: SocketAddr = told(LEDGER).parse().expect("the ledger has an address");
    let careless = std::env::var_os(CARELESS).is_some();
    let mut tools = Registry::samples();
    for kind in [Kind::Keyed, Kind::Blind] {
        let interrupted = match kind {
            Kind::Keyed => Interrupted::Replay,
            Kind::Blind if careless => Interrupted::Replay,
            Kind::Blind => Interrupted::Hold,
        };
        tools.register(Arc::new(Apply { kind, interrupted, ledger })).expect("its name is one");
    }
    let code = callonce::cli::run_from(["callonce", "serve"], tools);
    std::process::exit(i32::from(code != ExitCode::SUCCESS));
}

/// `ledger.keyed` and `ledger.blind`: ask the ledger to apply an amount.
struct Apply {
    kind: Kind,
    interrupted: Interrupted,
    ledger: SocketAddr,
}

impl Tool for Apply {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Keyed => "ledger.keyed",
            Kind::Blind => "ledger.blind",
        }
    }

    fn terms(&self) -> Terms {
        Terms { interrupted: self.interrupted, ..Terms::default() }
    }

    fn check(&self, args: &Value) -> Result<(), InvalidArgs> {
        let key = args.get("key").and_then(Value::as_str);
        key.ok_or_else(|| InvalidArgs::new("key", "expected the key, for the book"))?;
        let amount = args.get("amount").and_then(Value::as_number).and_then(|amount| amount.as_i64());
        amount.map(drop).ok_or_else(|| InvalidArgs::new("amount", "expected a whole number"))
    }

    fn run(&self, invocation: Invocation) -> Running<'_> {
        Box::pin(self.apply(invocation))
    }
}

impl Apply {
    async fn apply(&self, invocation: Invocation) -> Outcome {
        let Invocation { call_id, effect_id, args, .. } = invocation;
        let args = args.to_value();
        let key = args.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        let amount = args.get("amount").and_then(Value::as_number).and_then(|amount| amount.as_i64());
        let amount = amount.unwrap_or_default();
        let not_sent =
            |error: std::io::Error| Outcome::Failed(failure("ledger_unreachable", error.to_string()));
        let mut ledger = match TcpStream::connect(self.ledger).await {
            Ok(ledger) => ledger,
            Err(error) => return not_sent(error),
        };
        let request = format!("{} {effect_id} {call_id} {key} {amount}\n", self.kind.as_str());
        let mut answer = String::new();
        let asked = async {
            ledger.write_all(request.as_bytes()).await?;
            ledger.read_to_string(&mut answer).await
        };
        let unknown = |message: String| Outcome::Unknown { message };
        match asked.await {
            Err(error) => unknown(format!("the ledger's answer was cut off: {error}")),
            Ok(_) if answer == "refused\n" => Outcome::Failed(failure("ledger_refused", "it is busy".into())),
            Ok(_) => {
                match answer.trim_end().strip_prefix("applied ").and_then(|receipt| receipt.parse().ok()) {
                    None => unknown("the ledger hung up".into()),
                    Some(receipt) => Outcome::Succeeded {
                        result: result(&effect_id.to_string(), receipt),
                        amount: Some(amount),
                    },
                }
            }
        }
    }
}

fn result(effect_id: &str, receipt: i64) -> Value {
    Value::object([("effect_id", Value::from(effect_id.to_owned())), ("receipt", Value::from(receipt))])
}

fn failure(code: &str, message: String) -> Failure {
    Failure { code: code.into(), message, retryable: true, cause: None }
}

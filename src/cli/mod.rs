//! Talks to people: the command tree. One file a command; data goes to stdout, talk to stderr.

mod bench;
mod call;
mod config;
mod exit;
mod get;
mod list;
mod log;
mod output;
mod progress;
mod rebuild;
mod serve;
mod source;
mod stats;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::exit::Exit;

/// Makes a tool call happen once.
///
/// A client names each intended call with an Idempotency-Key. However often it sends the request, whenever it times out or
/// crashes, the same key leads to the same call, and that call has at most one side effect.
#[derive(Debug, Parser)]
#[command(name = "callonce", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server.
    Serve(serve::Serve),
    /// Make one call and wait for its result.
    Call(call::Call),
    /// Show one call, by its id or by its key.
    Get(get::Get),
    /// List calls, newest first.
    List(list::List),
    /// Show what is stored, in numbers.
    Stats(stats::Stats),
    /// Show the events of one call, or of all.
    Log(log::Log),
    /// Check every law on a database.
    Verify(verify::Verify),
    /// Make the tables of a database again from its log.
    Rebuild(rebuild::Rebuild),
    /// Load a server, measure it, and check that it doubled and lost nothing.
    Bench(bench::Bench),
}

/// Parses the command line, runs the command and returns what the process exits with.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are data somebody asked for; anything else is a usage error, which clap explains on stderr.
        Err(refusal) => {
            let _ = refusal.print();
            return if refusal.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::complain(&format!("the runtime cannot start: {error}"));
            return Exit::Storage.into();
        }
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(serve) => serve.run().await,
            Command::Call(call) => call.run().await,
            Command::Get(get) => get.run().await,
            Command::List(list) => list.run().await,
            Command::Stats(stats) => stats.run().await,
            Command::Log(log) => log.run().await,
            Command::Verify(verify) => verify.run().await,
            Command::Rebuild(rebuild) => rebuild.run().await,
            Command::Bench(bench) => bench.run().await,
        }
    });
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::complain(&failure.message);
            failure.exit.into()
        }
    }
}

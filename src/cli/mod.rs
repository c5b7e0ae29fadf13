//! Talks to people: the command tree. One file a command; data goes to stdout, talk to stderr.

mod again;
mod args;
mod bench;
mod call;
mod chaos;
mod config;
mod doctor;
mod exit;
mod get;
mod harm;
mod here;
mod list;
mod log;
mod output;
mod proc;
mod progress;
mod rebuild;
mod resolve;
mod serve;
mod server_process;
mod signals;
mod source;
mod stats;
mod tools;
mod tools_file;
mod verify;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::exit::Exit;
use crate::engine::tools::Registry;

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

// What each is for stands at its arguments, where `--help` finds the long text, too.
#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Tools(tools::Tools),
    Call(call::Call),
    Get(get::Get),
    List(list::List),
    Stats(stats::Stats),
    Log(log::Log),
    Resolve(resolve::Resolve),
    Verify(verify::Verify),
    Rebuild(rebuild::Rebuild),
    Chaos(chaos::Chaos),
    Bench(bench::Bench),
    Doctor(doctor::Doctor),
}

/// One thread fewer than there are cores, because the writer of the store, which every call waits for, needs one to itself.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    tokio::runtime::Builder::new_multi_thread().worker_threads((cores - 1).max(1)).enable_all().build()
}

/// Parses the command line of this process, runs the command and returns what the process exits with. The tools are the
/// samples.
pub fn run() -> ExitCode {
    run_from(std::env::args_os(), Registry::samples())
}

/// The same with a command line of one's own, whose first word is the program's name, and with these tools: the way for a
/// program that has tools of its own.
///
/// ```no_run
/// use callonce::engine::tools::Registry;
///
/// fn main() -> std::process::ExitCode {
///     let mut tools = Registry::samples();
///     // tools.register(std::sync::Arc::new(MyTool)) …
///     callonce::cli::run_from(std::env::args_os(), tools)
/// }
/// ```
pub fn run_from<A>(args: impl IntoIterator<Item = A>, tools: Registry) -> ExitCode
where
    A: Into<OsString> + Clone,
{
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(refusal) => return output::explain(refusal).into(),
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::complain(&format!("the runtime cannot start: {error}"));
            return Exit::Storage.into();
        }
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(serve) => serve.run(tools).await,
            Command::Tools(command) => command.run(tools),
            Command::Call(call) => call.run().await,
            Command::Get(get) => get.run().await,
            Command::List(list) => list.run().await,
            Command::Stats(stats) => stats.run().await,
            Command::Log(log) => log.run().await,
            Command::Resolve(resolve) => resolve.run().await,
            Command::Verify(verify) => verify.run().await,
            Command::Rebuild(rebuild) => rebuild.run().await,
            Command::Chaos(chaos) => chaos.run().await,
            Command::Bench(bench) => bench.run().await,
            Command::Doctor(doctor) => doctor.run().await,
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

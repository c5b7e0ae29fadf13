//! `callonce chaos`: makes things go wrong on purpose, and shows what comes of it.

mod faulty;
mod history;
mod proxy;
mod run;
mod scenario;
mod stage;
mod story;

use clap::{Args, Subcommand};

use super::exit::{Exit, Failure};

/// Make things go wrong on purpose, and see what comes of it.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(super) struct Chaos {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Proxy(proxy::Proxy),
    Run(run::Run),
}

impl Chaos {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Proxy(proxy) => proxy.run().await,
            Command::Run(run) => run.run().await,
        }
    }
}

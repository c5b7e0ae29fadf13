//! A payment service to put callonce in front of: it pays once for each `Idempotency-Key`, can be asked about a key, and keeps a
//! book of what it was asked for and what it paid. It can be told to forget keys, to stall, and to die between the effect
//! and its answer, which is what real ones do when it matters.
//!
//! ```text
//! cargo run --example payments -- --listen 127.0.0.1:9000 --book payments.ndjson
//! ```

mod book;
mod service;
mod switches;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use tokio::net::TcpListener;

use book::Book;
use service::Service;
use switches::{Settings, Switches};

/// A payment service to try tools on.
#[derive(Debug, Parser)]
struct Args {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9000")]
    listen: SocketAddr,
    /// The book: made if it is not there, read if it is.
    #[arg(long, value_name = "FILE", default_value = "payments.ndjson")]
    book: PathBuf,
    /// Forget keys: the same key pays again.
    #[arg(long)]
    forget_keys: bool,
    /// Die once, after the next payment is in the book and before it is answered.
    #[arg(long)]
    die_after_effect: bool,
    /// What requests have to bring as `Authorization: Bearer …`; nothing if anybody may pay.
    #[arg(long, env = "PAYMENTS_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("payments: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), String> {
    let book = Book::open(&args.book).map_err(|problem| format!("{}: {problem}", args.book.display()))?;
    let settings =
        Settings { forget_keys: args.forget_keys, die_after_effect: args.die_after_effect, stall: None };
    let service = Arc::new(Service { book, switches: Switches::new(settings), token: args.token });
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|problem| format!("cannot listen on {}: {problem}", args.listen))?;
    let address = listener.local_addr().map_err(|problem| problem.to_string())?;
    eprintln!("payments: listening on http://{address}");
    axum::serve(listener, service::router(service)).await.map_err(|problem| problem.to_string())
}

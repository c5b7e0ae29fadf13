//! `callonce list`: calls, newest first.

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{Output, emit_rows};
use super::source::Source;
use crate::domain::call::Status;
use crate::domain::id::{ClientId, ToolName};
use crate::store::Filter;

/// List calls, newest first.
#[derive(Debug, Args)]
pub(super) struct List {
    /// Only calls with this status: pending, running, succeeded or failed.
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<Status>,
    /// Only calls of this tool.
    #[arg(long, value_name = "TOOL", value_parser = ToolName::parse)]
    tool: Option<ToolName>,
    /// Only calls of this client.
    #[arg(long, value_name = "CLIENT", value_parser = ClientId::parse)]
    client_id: Option<ClientId>,
    /// Only held calls.
    #[arg(long)]
    held: bool,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    limit: usize,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    output: Output,
}

const COLUMNS: [&str; 7] = ["call_id", "idem_key", "tool", "status", "attempt", "created_at", "updated_at"];

impl List {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let filter = Filter {
            status: self.status,
            tool: self.tool,
            client_id: self.client_id,
            held: self.held.then_some(true),
        };
        let calls = self.source.open()?.list(&filter, self.limit).await?;
        emit_rows(&calls, &COLUMNS, self.output.output)?;
        Ok(Exit::Done)
    }
}

fn status(word: &str) -> Result<Status, String> {
    Status::parse(word).ok_or_else(|| "expected pending, running, succeeded or failed".into())
}

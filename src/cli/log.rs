//! `callonce log`: the events, of one call or of all; or a call as it was.

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{Format, Output, emit, emit_object, emit_rows};
use super::source::Source;
use crate::domain::id::{CallId, Version};

/// Show the events of one call, or of all.
#[derive(Debug, Args)]
pub(super) struct Log {
    /// The call's id; without it the whole log, which only --db can show.
    #[arg(value_name = "ID")]
    id: Option<CallId>,
    /// Show the call as it was at this version, instead of its events.
    #[arg(long, value_name = "VERSION", requires = "id")]
    at: Option<u64>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    output: Output,
}

const COLUMNS: [&str; 7] = ["position", "call_id", "version", "at", "event", "attempt", "detail"];

impl Log {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let source = self.source.open()?;
        if let (Some(id), Some(version)) = (self.id, self.at) {
            emit_object(&source.call_at(id, Version(version)).await?, self.output.output)?;
            return Ok(Exit::Done);
        }
        let columns = if self.id.is_some() { &COLUMNS[2..] } else { &COLUMNS[..] };
        match self.output.output {
            // One line an event can be shown as it comes, however long the log is.
            Format::Ndjson => source.events(self.id, |event| emit(event.get())).await?,
            Format::Table | Format::Json => {
                let mut events = Vec::new();
                let collected = source.events(self.id, |event| {
                    events.push(event);
                    Ok(())
                });
                collected.await?;
                emit_rows(&events, columns, self.output.output)?;
            }
        }
        Ok(Exit::Done)
    }
}

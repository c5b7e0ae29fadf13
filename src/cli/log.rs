//! `callonce log`: the events, of one call or of all.

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{Format, Output, emit, emit_rows};
use super::source::Source;
use crate::domain::id::CallId;

/// Show the events of one call, or of all.
#[derive(Debug, Args)]
pub(super) struct Log {
    /// The call's id; without it the whole log, which only --db can show.
    #[arg(value_name = "ID")]
    id: Option<CallId>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    output: Output,
}

const COLUMNS: [&str; 7] = ["position", "call_id", "version", "at", "event", "attempt", "detail"];

impl Log {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let source = self.source.open()?;
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

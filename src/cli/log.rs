//! `callonce log`: the events, of one call or of all; or a call as it was.

use clap::{ArgGroup, Args};

use super::exit::{Exit, Failure};
use super::output::{Format, Output, emit_next, emit_object, emit_rows};
use super::source::Source;
use crate::domain::id::{CallId, IdemKey, Version};

/// Show the events of one call, or of all.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("name").args(["id", "key"])))]
pub(super) struct Log {
    /// The call's id; with neither this nor --key, the whole log, which only --db can show.
    #[arg(value_name = "ID")]
    id: Option<CallId>,
    /// The call's idempotency key.
    #[arg(long, value_name = "K", value_parser = IdemKey::parse)]
    key: Option<IdemKey>,
    /// Show the call as it was at this version, instead of its events.
    #[arg(long, value_name = "VERSION", requires = "name")]
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
        let id = match (self.id, self.key) {
            (None, Some(key)) => Some(source.id_of(key).await?),
            (id, _) => id,
        };
        if let (Some(id), Some(version)) = (id, self.at) {
            emit_object(&source.call_at(id, Version(version)).await?, self.output.output)?;
            return Ok(Exit::Done);
        }
        let columns = if id.is_some() { &COLUMNS[2..] } else { &COLUMNS[..] };
        match self.output.output {
            // One line an event can be shown as it comes, however long the log is.
            Format::Ndjson => source.events(id, |event| emit_next(event.get())).await?,
            Format::Table | Format::Json => {
                let mut events = Vec::new();
                let collected = source.events(id, |event| {
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

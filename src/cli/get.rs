//! `callonce get`: one call, by its id or by its key.

use clap::{ArgGroup, Args};

use super::exit::{Exit, Failure};
use super::output::{Output, emit_object};
use super::source::{Named, Source};
use crate::domain::id::{CallId, IdemKey};

/// Show one call, by its id or by its key.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("name").required(true).args(["id", "key"])))]
pub(super) struct Get {
    /// The call's id.
    #[arg(value_name = "ID")]
    id: Option<CallId>,
    /// The call's idempotency key.
    #[arg(long, value_name = "K", value_parser = IdemKey::parse)]
    key: Option<IdemKey>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    output: Output,
}

impl Get {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let named = match (self.id, self.key) {
            (Some(id), _) => Named::Id(id),
            (None, Some(key)) => Named::Key(key),
            (None, None) => return Err(Failure::new(Exit::Usage, "name a call by its ID or by --key")),
        };
        let call = self.source.open()?.call(&named).await?;
        emit_object(&call, self.output.output)?;
        Ok(Exit::Done)
    }
}

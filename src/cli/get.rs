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
        let named = Named::typed(self.id, self.key)?;
        let call = self.source.open()?.call(&named).await?;
        emit_object(&call, self.output.output)?;
        Ok(Exit::Done)
    }
}

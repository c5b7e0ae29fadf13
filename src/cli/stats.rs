//! `callonce stats`: what is stored, in numbers.

use clap::Args;

use super::exit::{Exit, Failure};
use super::output::{Output, emit_object};
use super::source::Source;

/// Show what is stored, in numbers.
#[derive(Debug, Args)]
pub(super) struct Stats {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    output: Output,
}

impl Stats {
    pub(super) async fn run(self) -> Result<Exit, Failure> {
        let stats = self.source.open()?.stats().await?;
        emit_object(&stats, self.output.output)?;
        Ok(Exit::Done)
    }
}

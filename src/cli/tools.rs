//! `callonce tools`: what can be called, and whether a file of tools is right, with no server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::value::{RawValue, to_raw_value};

use super::config::duration;
use super::exit::{Exit, Failure};
use super::output::{Output, emit_object, emit_rows, say};
use super::tools_file::{add, load};
use crate::domain::id::ToolName;
use crate::engine::Settings;
use crate::engine::tools::declared::{Fact, of_terms};
use crate::engine::tools::{Registry, Tool};

/// Check a file of tools, or show what it declares.
#[derive(Debug, Args)]
pub(super) struct Tools {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
    List(List),
    Show(Show),
}

/// Read a file of tools as the server would, and say what is wrong with it. Nothing is called.
#[derive(Debug, Args)]
struct Check {
    /// The file.
    #[arg(value_name = "FILE", env = "CALLONCE_TOOLS")]
    file: PathBuf,
    /// The lease of the server that is to run them; longer than any tool's time limit.
    #[arg(long, value_name = "TIME", env = "CALLONCE_LEASE", default_value = "30s", value_parser = duration)]
    lease: Duration,
    /// Its time limit for tools that state none.
    #[arg(long, value_name = "TIME", env = "CALLONCE_TIME_LIMIT", default_value = "25s", value_parser = duration)]
    time_limit: Duration,
}

/// List the tools that a server would have with this file, or without one.
#[derive(Debug, Args)]
struct List {
    /// The file.
    #[arg(value_name = "FILE", env = "CALLONCE_TOOLS")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Show what is in force for one tool: what the file says and what follows by default. Of secrets it shows where they come from.
#[derive(Debug, Args)]
struct Show {
    /// The tool.
    #[arg(value_name = "NAME", value_parser = ToolName::parse)]
    name: ToolName,
    /// The file.
    #[arg(value_name = "FILE", env = "CALLONCE_TOOLS")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

impl Tools {
    pub(super) fn run(self, own: Registry) -> Result<Exit, Failure> {
        match self.command {
            Command::Check(check) => check.run(own),
            Command::List(list) => list.run(own),
            Command::Show(show) => show.run(own),
        }
    }
}

impl Check {
    fn run(self, own: Registry) -> Result<Exit, Failure> {
        let declared = load(&self.file)?.len();
        let registry = add(Some(&self.file), own)?;
        let settings = Settings { lease: self.lease, time_limit: self.time_limit, ..Settings::default() };
        settings
            .check(&registry)
            .map_err(|unfit| Failure::new(Exit::Config, format!("{}: {unfit}", self.file.display())))?;
        say(&format!("{}: nothing wrong; tools declared: {declared}", self.file.display()));
        Ok(Exit::Done)
    }
}

const COLUMNS: [&str; 6] = ["name", "kind", "side_effect", "interrupted", "timeout", "concurrency"];

impl List {
    fn run(self, own: Registry) -> Result<Exit, Failure> {
        let rows = everything(self.file.as_deref(), &own)?.into_values().map(|facts| raw(&facts));
        emit_rows(&rows.collect::<Result<Vec<_>, _>>()?, &COLUMNS, self.output.output)?;
        Ok(Exit::Done)
    }
}

impl Show {
    fn run(self, own: Registry) -> Result<Exit, Failure> {
        let everything = everything(self.file.as_deref(), &own)?;
        let facts = everything.get(self.name.as_str()).ok_or_else(|| {
            let known: Vec<_> = everything.keys().map(String::as_str).collect();
            let problem = format!("no tool is called {}; there are {}", self.name, known.join(", "));
            Failure::new(Exit::NotFound, problem)
        })?;
        emit_object(raw(facts)?.get(), self.output.output)?;
        Ok(Exit::Done)
    }
}

/// What is in force for each tool of the program and of the file, by their names.
fn everything(
    file: Option<&Path>,
    own: &Registry,
) -> Result<BTreeMap<String, BTreeMap<String, String>>, Failure> {
    let built_in = own.all().map(|(name, terms)| whole(name.as_str(), "built in", &of_terms(&terms)));
    let declared = file.map_or(Ok(Vec::new()), load)?;
    let declared = declared.iter().map(|tool| whole(tool.name(), tool.kind(), tool.facts()));
    Ok(built_in.chain(declared).collect())
}

fn whole(name: &str, kind: &str, facts: &[Fact]) -> (String, BTreeMap<String, String>) {
    let mut whole: BTreeMap<_, _> =
        facts.iter().map(|fact| (fact.name.clone(), fact.value.clone())).collect();
    whole.extend([("name".into(), name.into()), ("kind".into(), kind.into())]);
    (name.into(), whole)
}

fn raw(facts: &BTreeMap<String, String>) -> Result<Box<RawValue>, Failure> {
    to_raw_value(facts).map_err(|problem| Failure::new(Exit::Storage, problem.to_string()))
}

//! How things are shown: data to stdout as a table, JSON or NDJSON; talk to stderr.

use std::io::{IsTerminal, Write};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

use super::exit::{Exit, Failure};

/// How data is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Table,
    /// One JSON document.
    Json,
    /// One JSON document a line.
    Ndjson,
}

/// The option that every command with data has.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Output {
    /// How to show data.
    #[arg(long, value_name = "FORMAT", env = "CALLONCE_OUTPUT", default_value = "table")]
    pub(super) output: Format,
}

/// Tells a person something.
pub(super) fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "callonce: {}", harmless(message));
}

/// Tells a person what went wrong.
pub(super) fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "callonce: error: {}", harmless(message));
}

/// What to do with a value that is taken for an option. To accept it there would take `--key --wait 5s` for a key.
const DASH_TIP: &str = "a value that begins with a dash is written as in '--key=-x', or after '--' where it belongs to no option";

/// Shows what clap has to say: help that somebody asked for is data, anything else is talk.
pub(super) fn explain(mut refusal: clap::Error) -> Exit {
    if let (ErrorKind::UnknownArgument, Some(ContextValue::StyledStrs(tips))) =
        (refusal.kind(), refusal.get(ContextKind::Suggested))
    {
        // Clap's own tip is for values without an option, and wrong for all others.
        let is_of_clap = |tip: &StyledStr| tip.to_string().contains(" as a value, use ");
        let better = |tip: &StyledStr| if is_of_clap(tip) { DASH_TIP.into() } else { tip.clone() };
        let tips = tips.iter().map(better).collect();
        refusal.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    match refusal.print() {
        _ if refusal.use_stderr() => Exit::Usage,
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            complain(&format!("stdout: {error}"));
            Exit::Storage
        }
    }
}

/// Writes a line of data. That its reader has gone (`| true`) changes nothing about how the command ends.
pub(super) fn emit(line: &str) -> Result<(), Failure> {
    write_line(line).map(drop)
}

/// Writes one line of many. A reader who has enough (`| head`) ends the command quietly: nobody wants the rest.
pub(super) fn emit_next(line: &str) -> Result<(), Failure> {
    match write_line(line)? {
        Reader::Reads => Ok(()),
        Reader::HasGone => std::process::exit(Exit::Done as i32),
    }
}

/// Writes a line that counts only where it is read: that its reader has gone is as bad as a full disk.
pub(super) fn emit_evidence(line: &str) -> Result<(), Failure> {
    match write_line(line)? {
        Reader::Reads => Ok(()),
        Reader::HasGone => Err(Failure::new(Exit::Storage, "stdout: nobody reads it any more")),
    }
}

enum Reader {
    Reads,
    HasGone,
}

fn write_line(line: &str) -> Result<Reader, Failure> {
    match writeln!(std::io::stdout(), "{line}") {
        Ok(()) => Ok(Reader::Reads),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reader::HasGone),
        Err(error) => Err(Failure::new(Exit::Storage, format!("stdout: {error}"))),
    }
}

/// Shows one object: as it came, or as a list of its members.
pub(super) fn emit_object(json: &str, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json | Format::Ndjson => emit(json),
        Format::Table => {
            let object = parse(json)?;
            let mut table = table();
            for (name, value) in object.as_object().into_iter().flatten() {
                if !value.is_null() {
                    table.add_row([name.clone(), cell(value)]);
                }
            }
            emit(&table.trim_fmt())
        }
    }
}

/// Shows names and what they stand for, as a table.
pub(super) fn emit_pairs(pairs: &[(&str, String)]) -> Result<(), Failure> {
    let mut table = table();
    for (name, value) in pairs {
        table.add_row([*name, value.as_str()]);
    }
    emit(&table.trim_fmt())
}

/// Shows many objects: as they came, or as rows with these columns.
pub(super) fn emit_rows(
    objects: &[Box<serde_json::value::RawValue>],
    columns: &[&str],
    format: Format,
) -> Result<(), Failure> {
    match format {
        Format::Json => {
            let all = serde_json::to_string(objects)
                .map_err(|error| Failure::new(Exit::Storage, error.to_string()))?;
            emit(&all)
        }
        Format::Ndjson => objects.iter().try_for_each(|object| emit(object.get())),
        Format::Table => {
            let mut table = table();
            table.set_header(columns.to_vec());
            for object in objects {
                let object = parse(object.get())?;
                table
                    .add_row(columns.iter().map(|column| object.get(*column).map_or_else(String::new, cell)));
            }
            emit(&table.trim_fmt())
        }
    }
}

fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let arrangement = match std::io::stdout().is_terminal() {
        true => ContentArrangement::Dynamic,
        false => ContentArrangement::Disabled,
    };
    table.set_content_arrangement(arrangement);
    table
}

/// A value in a table: strings as they are, everything else as JSON. Control characters are escaped, because what is
/// shown came from clients and a terminal obeys them.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    escaped(&text, |c| c.is_control())
}

/// Talk may have lines; what else a terminal obeys can come from a server's message.
fn harmless(message: &str) -> String {
    escaped(message, |c| c.is_control() && c != '\n')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let shown = |c: char| if is_escaped(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

fn parse(json: &str) -> Result<Value, Failure> {
    serde_json::from_str(json).map_err(|error| Failure::new(Exit::Open, format!("not JSON: {error}")))
}

//! The arguments of a call, as they are typed: JSON in place, from a file or from stdin, or one by one.

use std::collections::HashSet;
use std::io::Read;

use super::exit::{Exit, Failure};
use crate::domain::json::{self, Value};

/// Both ways to give arguments; never both at once.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// One argument; VALUE is JSON where it parses, else a string.
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = argument)]
    arg: Vec<(String, Value)>,
    /// All arguments: a JSON object, @FILE for a file that holds one, or - for stdin; empty for none.
    #[arg(long, value_name = "JSON", conflicts_with = "arg")]
    args: Option<String>,
}

impl Arguments {
    /// What was typed, as one object.
    pub(super) fn read(&self) -> Result<Value, Failure> {
        match &self.args {
            Some(args) => {
                all(args).map_err(|problem| Failure::new(Exit::Usage, format!("--args: {problem}")))
            }
            None => self.one_by_one(),
        }
    }

    /// Where all of them came from, if that is a file: it can be read again.
    pub(super) fn file(&self) -> Option<&str> {
        self.args.as_deref().filter(|typed| typed.starts_with('@'))
    }

    /// As in JSON: of two values of one name, none can be the one that was meant.
    fn one_by_one(&self) -> Result<Value, Failure> {
        let mut names = HashSet::new();
        match self.arg.iter().find(|(name, _)| !names.insert(name)) {
            Some((name, _)) => {
                Err(Failure::new(Exit::Usage, format!("--arg {name} is given more than once")))
            }
            None => Ok(Value::Object(self.arg.clone())),
        }
    }
}

fn argument(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = json::parse(value.as_bytes()).unwrap_or_else(|_| Value::String(value.into()));
    Ok((name.into(), value))
}

/// All arguments as one object: in place, from a file or from stdin.
pub(super) fn all(typed: &str) -> Result<Value, String> {
    if typed.trim().is_empty() {
        return Ok(Value::Object(vec![]));
    }
    let (of, text) = if typed == "-" {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map_err(|problem| format!("stdin: {problem}"))?;
        ("stdin: ".to_string(), text)
    } else if let Some(path) = typed.strip_prefix('@') {
        (format!("{path}: "), std::fs::read(path).map_err(|problem| format!("{path}: {problem}"))?)
    } else {
        (String::new(), typed.as_bytes().to_vec())
    };
    if text.trim_ascii().is_empty() {
        // A pipe whose other end failed looks like this, and must not become a call without arguments.
        return Err(format!("{of}it is empty; for no arguments it has to hold {{}}"));
    }
    let args = json::parse(&text).map_err(|problem| format!("{of}{problem}"))?;
    match args.as_object() {
        Some(_) => Ok(args),
        None => Err(format!("{of}expected an object, found {}", args.kind_name())),
    }
}

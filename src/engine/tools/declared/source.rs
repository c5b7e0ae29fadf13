//! Where a value comes from that is not to stand in the file: an environment variable, or a file of its own.

use std::io;
use std::path::Path;

use toml::de::DeValue;

use super::section::Section;
use super::written::shown;
use crate::engine::tools::Secret;

/// What a file of tools refers to.
pub trait Surroundings {
    /// The value of an environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// The text of a file; a relative path begins where the file of tools is.
    ///
    /// # Errors
    /// As reading files has them.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// A value with its name, and how to speak of where it comes from.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) value: Secret,
    pub(super) from: String,
}

const EXPECTED: &str =
    "expected a text, { env = \"NAME\" } or { file = \"PATH\" }, either with a prefix = \"…\"";

/// Reads a table of names and values.
pub(super) fn named(mut section: Section<'_>, around: &dyn Surroundings) -> Vec<Named> {
    let mut all = Vec::new();
    for (name, value) in section.entries() {
        match one(value, around) {
            Ok((value, from)) => all.push(Named { name: name.into(), value: Secret::new(value), from }),
            Err(problem) => section.refuse(name, problem),
        }
    }
    all
}

fn one(value: &DeValue<'_>, around: &dyn Surroundings) -> Result<(String, String), String> {
    if let Some(text) = value.as_str() {
        return Ok((text.into(), "this file".into()));
    }
    let table = value.as_table().ok_or_else(|| format!("{EXPECTED}, found {}", shown(value)))?;
    let text = |name: &str| match table.get(name).map(|value| value.get_ref().as_str()) {
        Some(Some(text)) => Ok(Some(text)),
        Some(None) => Err(format!("{EXPECTED}, found a {name} that is no text")),
        None => Ok(None),
    };
    let known = |name: &&str| ["env", "file", "prefix"].contains(name);
    if let Some(unknown) = table.keys().map(|name| name.get_ref().as_ref()).find(|name| !known(name)) {
        return Err(format!("{EXPECTED}, found {unknown:?}"));
    }
    let prefix = text("prefix")?.unwrap_or_default();
    let (value, from) = match (text("env")?, text("file")?) {
        (Some(variable), None) => {
            let value = around.variable(variable);
            let value = value
                .ok_or_else(|| format!("the environment variable {variable} is not set, or no UTF-8"))?;
            (value, format!("the environment variable {variable}"))
        }
        (None, Some(path)) => {
            let text = around.read(Path::new(path));
            let text = text.map_err(|problem| format!("{path:?} cannot be read: {problem}"))?;
            // Editors and shells end a file with a newline that is not meant.
            (text.trim_end_matches(['\r', '\n']).to_owned(), format!("the file {path}"))
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(format!(
                "{EXPECTED}, found {} of the two",
                if text("env")?.is_some() { "both" } else { "neither" }
            ));
        }
    };
    match value.is_empty() {
        true => Err(format!("{from} is empty")),
        false => Ok((format!("{prefix}{value}"), from)),
    }
}

//! A JSON Schema that args have to fit.

use std::path::Path;

use jsonschema::paths::LocationSegment;
use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Number, Value as Json};
use toml::de::DeValue;

use super::section::Section;
use super::source::Surroundings;
use super::written::{number, shown};
use crate::domain::json::{Value, push_item, push_member};
use crate::engine::tools::InvalidArgs;

/// A schema, compiled.
pub(super) struct Schema(Validator);

/// Reads `args_schema`: a table that is the schema, or the path of a JSON file.
pub(super) fn schema(section: &mut Section<'_>, around: &dyn Surroundings) -> Option<Schema> {
    let value = section.value("args_schema")?.get_ref();
    let schema = match value {
        DeValue::String(path) => read(path, around),
        DeValue::Table(_) => json(value),
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => Err(format!(
            "expected a JSON Schema as a table, or the path of a JSON file, found {}",
            shown(value)
        )),
    };
    match schema.and_then(|schema| compile(&schema)) {
        Ok(schema) => Some(schema),
        Err(problem) => {
            section.refuse("args_schema", problem);
            None
        }
    }
}

fn read(path: &str, around: &dyn Surroundings) -> Result<Json, String> {
    let text =
        around.read(Path::new(path)).map_err(|problem| format!("{path:?} cannot be read: {problem}"))?;
    serde_json::from_str(&text).map_err(|problem| format!("{path:?} is not JSON: {problem}"))
}

/// Patterns run in linear time, so that no args can keep a server busy; what lies on another machine is not fetched.
fn compile(schema: &Json) -> Result<Schema, String> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .offline()
        .build(schema)
        .map(Schema)
        .map_err(|problem| {
            format!("not a JSON Schema: {}: {problem}", pointer(problem.instance_path().as_str()))
        })
}

fn pointer(path: &str) -> &str {
    if path.is_empty() { "/" } else { path }
}

impl Schema {
    /// Whether the args fit.
    pub(super) fn check(&self, args: &Value) -> Result<(), InvalidArgs> {
        let args: Json = serde_json::from_str(args.canonical().as_str())
            .map_err(|problem| InvalidArgs::new("", problem.to_string()))?;
        let Err(unfit) = self.0.validate(&args) else { return Ok(()) };
        let mut path = "args".to_owned();
        for step in unfit.instance_path() {
            match step {
                LocationSegment::Property(name) => push_member(&mut path, &name),
                LocationSegment::Index(index) => push_item(&mut path, index),
            }
        }
        Err(InvalidArgs::at(path, unfit.masked_with("it").to_string()))
    }
}

/// The same value as JSON.
fn json(value: &DeValue<'_>) -> Result<Json, String> {
    let no_json = || format!("{} cannot be written as JSON", shown(value));
    Ok(match value {
        DeValue::String(text) => Json::String(text.to_string()),
        DeValue::Integer(integer) => Json::Number(number::<i64>(integer).ok_or_else(no_json)?.into()),
        DeValue::Float(float) => {
            let double = float.as_str().parse().ok().and_then(Number::from_f64);
            Json::Number(double.ok_or_else(no_json)?)
        }
        DeValue::Boolean(is) => Json::Bool(*is),
        DeValue::Datetime(_) => return Err(no_json()),
        DeValue::Array(items) => {
            Json::Array(items.iter().map(|item| json(item.get_ref())).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let member = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
                let name: &std::borrow::Cow<'_, str> = name.get_ref();
                Ok::<_, String>((name.to_string(), json(value.get_ref())?))
            };
            Json::Object(table.iter().map(member).collect::<Result<Map<_, _>, _>>()?)
        }
    })
}

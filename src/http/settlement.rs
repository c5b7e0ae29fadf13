//! The body that settles a held call, understood.

use super::wire::members;
use crate::domain::json::{Canonical, Value};
use crate::engine::{Outcome, Settlement};

/// The most bytes of `evidence`: a link, a line of a log, some sentences. It stays in the log for ever.
pub const MAX_EVIDENCE_BYTES: usize = 4096;
/// The most bytes of `who`.
pub const MAX_WHO_BYTES: usize = 255;

/// Reads the body of a POST to `resolve`.
///
/// # Errors
/// Says what is wrong, and where.
pub fn read(body: &[u8]) -> Result<Settlement, String> {
    let (mut outcome, mut result, mut who, mut evidence) = (None, None, None, None);
    for (name, value) in members(body)? {
        match name.as_str() {
            "outcome" => outcome = Some(value),
            "result" => result = Some(value.canonical()),
            "who" => who = Some(text("who", &value, MAX_WHO_BYTES)?),
            "evidence" => evidence = Some(text("evidence", &value, MAX_EVIDENCE_BYTES)?),
            _ => {
                return Err(format!(
                    "`{name}` is not a member of a settlement; it has outcome, result, who and evidence"
                ));
            }
        }
    }
    let outcome = outcome.ok_or("`outcome` is missing: happened, not_happened or abandoned")?;
    Ok(Settlement {
        outcome: read_outcome(&outcome, result)?,
        who: who.ok_or("`who` is missing: the name of whoever says so")?,
        evidence: evidence.ok_or("`evidence` is missing: how it is known")?,
    })
}

fn read_outcome(value: &Value, result: Option<Canonical>) -> Result<Outcome, String> {
    let expected = "expected happened, not_happened or abandoned";
    let word = value.as_str().ok_or_else(|| format!("`outcome` is {}; {expected}", value.kind_name()))?;
    let outcome = match word {
        "happened" => {
            return Ok(Outcome::Happened { result: result.unwrap_or_else(|| Value::Null.canonical()) });
        }
        "not_happened" => Outcome::NotHappened,
        "abandoned" => Outcome::Abandoned,
        _ => return Err(format!("`outcome` is `{word}`; {expected}")),
    };
    match result {
        None => Ok(outcome),
        Some(_) => Err(format!("`result` goes with the outcome happened only, not with {word}")),
    }
}

fn text(name: &str, value: &Value, most: usize) -> Result<String, String> {
    let text =
        value.as_str().ok_or_else(|| format!("`{name}` is {}; expected a string", value.kind_name()))?;
    match text.len() {
        _ if text.trim().is_empty() => Err(format!("`{name}` is empty")),
        length if length > most => {
            Err(format!("`{name}` is {length} bytes long; at most {most} are allowed"))
        }
        _ => Ok(text.into()),
    }
}

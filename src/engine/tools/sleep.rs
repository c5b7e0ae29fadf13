//! `sleep`: runs for a while and does nothing, to be interrupted.

use std::time::Duration;

use super::{Interrupted, InvalidArgs, Invocation, Outcome, Running, Terms, Tool};
use crate::domain::json::{Number, Value};

/// The sample tool that takes time and has no side effect.
pub struct Sleep;

/// The longest sleep, in seconds: well within any lease a person would set.
const MOST_SECONDS: f64 = 10.0;

impl Tool for Sleep {
    fn name(&self) -> &str {
        "sleep"
    }

    fn terms(&self) -> Terms {
        Terms { side_effect: false, interrupted: Interrupted::Replay, local: false, ..Terms::default() }
    }

    fn check(&self, args: &Value) -> Result<(), InvalidArgs> {
        seconds(args).map(drop)
    }

    fn run(&self, invocation: Invocation) -> Running<'_> {
        Box::pin(async move {
            let args = invocation.args.to_value();
            match seconds(&args) {
                Ok(seconds) => {
                    tokio::time::sleep(Duration::from_secs_f64(seconds.map_or(0.0, Number::as_f64))).await;
                    let slept = args.get("seconds").cloned().unwrap_or(Value::from(0));
                    Outcome::Succeeded { result: Value::object([("slept", slept)]), amount: None }
                }
                Err(invalid) => invalid.into(),
            }
        })
    }
}

/// How long; no time at all if it is not said.
fn seconds(args: &Value) -> Result<Option<&Number>, InvalidArgs> {
    let expected = "a number from 0 to 10";
    match args.get("seconds") {
        None => Ok(None),
        Some(Value::Number(number)) if (0.0..=MOST_SECONDS).contains(&number.as_f64()) => Ok(Some(number)),
        Some(Value::Number(number)) => {
            Err(InvalidArgs::new("seconds", format!("expected {expected}, found {}", number.as_str())))
        }
        other => Err(InvalidArgs::expected("seconds", expected, other)),
    }
}

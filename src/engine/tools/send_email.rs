//! `send_email`: a side effect without an amount. Nothing leaves this process: the effect is the row.

use std::future::ready;

use super::{Interrupted, InvalidArgs, Invocation, Outcome, Running, Terms, Tool};
use crate::domain::json::Value;

/// The sample tool with a side effect that has no amount.
pub struct SendEmail;

impl Tool for SendEmail {
    fn name(&self) -> &str {
        "send_email"
    }

    fn terms(&self) -> Terms {
        Terms { side_effect: true, interrupted: Interrupted::Replay, local: true, ..Terms::default() }
    }

    fn check(&self, args: &Value) -> Result<(), InvalidArgs> {
        recipients(args)?;
        match args.get("subject") {
            Some(Value::String(_)) => {}
            other => return Err(InvalidArgs::expected("subject", "a string", other)),
        }
        match args.get("body") {
            None | Some(Value::String(_)) => Ok(()),
            other => Err(InvalidArgs::expected("body", "a string", other)),
        }
    }

    fn run(&self, invocation: Invocation) -> Running<'_> {
        let outcome = match recipients(&invocation.args.to_value()) {
            Ok(to) => Outcome::Succeeded {
                result: Value::object([
                    ("effect_id", Value::from(invocation.effect_id.to_string())),
                    ("to", to.clone()),
                ]),
                amount: None,
            },
            Err(invalid) => invalid.into(),
        };
        Box::pin(ready(outcome))
    }
}

/// One recipient, or a list of them.
fn recipients(args: &Value) -> Result<&Value, InvalidArgs> {
    match args.get("to") {
        Some(to @ Value::String(_)) => Ok(to),
        Some(to @ Value::Array(list))
            if !list.is_empty() && list.iter().all(|one| matches!(one, Value::String(_))) =>
        {
            Ok(to)
        }
        other => Err(InvalidArgs::expected("to", "a string or a list of strings", other)),
    }
}

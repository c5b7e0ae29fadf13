//! `charge`: moves an amount. Its effect is the row in our own transaction, so it happens exactly once.

use std::future::ready;

use super::{Interrupted, InvalidArgs, Invocation, Outcome, Running, Terms, Tool};
use crate::domain::json::Value;

/// The sample tool with a side effect that has an amount.
pub struct Charge;

const AMOUNT: &str = "amount";

impl Tool for Charge {
    fn name(&self) -> &str {
        "charge"
    }

    fn terms(&self) -> Terms {
        Terms { side_effect: true, interrupted: Interrupted::Replay, local: true, ..Terms::default() }
    }

    fn check(&self, args: &Value) -> Result<(), InvalidArgs> {
        amount(args).map(drop)
    }

    fn run(&self, invocation: Invocation) -> Running<'_> {
        let outcome = match amount(&invocation.args.to_value()) {
            Ok(amount) => Outcome::Succeeded {
                result: Value::object([
                    ("charged", Value::from(amount)),
                    ("effect_id", Value::from(invocation.effect_id.to_string())),
                ]),
                amount: Some(amount),
            },
            Err(invalid) => invalid.into(),
        };
        Box::pin(ready(outcome))
    }
}

/// The amount: a whole number from 1 to 2^63-1.
fn amount(args: &Value) -> Result<i64, InvalidArgs> {
    let expected = "a whole number from 1 to 9223372036854775807";
    match args.get(AMOUNT) {
        Some(Value::Number(number)) => number.as_i64().filter(|amount| *amount >= 1).ok_or_else(|| {
            InvalidArgs::new(AMOUNT, format!("expected {expected}, found {}", number.as_str()))
        }),
        other => Err(InvalidArgs::expected(AMOUNT, expected, other)),
    }
}

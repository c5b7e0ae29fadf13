//! `fail`: fails, as often and as finally as it is told to.

use std::future::ready;

use super::{Failure, Interrupted, InvalidArgs, Invocation, Outcome, Running, Terms, Tool};
use crate::domain::json::Value;

/// The sample tool that fails.
pub struct Fail;

impl Tool for Fail {
    fn name(&self) -> &str {
        "fail"
    }

    fn terms(&self) -> Terms {
        Terms { side_effect: false, interrupted: Interrupted::Replay, local: true, ..Terms::default() }
    }

    fn check(&self, args: &Value) -> Result<(), InvalidArgs> {
        Wish::read(args).map(drop)
    }

    fn run(&self, invocation: Invocation) -> Running<'_> {
        let outcome = match Wish::read(&invocation.args.to_value()) {
            Ok(wish) => wish.outcome(invocation.attempt),
            Err(invalid) => invalid.into(),
        };
        Box::pin(ready(outcome))
    }
}

/// What the args ask for.
struct Wish {
    retryable: bool,
    message: String,
    /// How many attempts fail; all of them, if it is not said.
    times: Option<i64>,
}

impl Wish {
    fn read(args: &Value) -> Result<Self, InvalidArgs> {
        let retryable = match args.get("retryable") {
            None => false,
            Some(Value::Bool(retryable)) => *retryable,
            other => return Err(InvalidArgs::expected("retryable", "true or false", other)),
        };
        let message = match args.get("message") {
            None => "told to fail".into(),
            Some(Value::String(message)) => message.clone(),
            other => return Err(InvalidArgs::expected("message", "a string", other)),
        };
        let times = match args.get("times") {
            None => None,
            Some(Value::Number(number)) if number.as_i64().is_some_and(|times| times >= 0) => number.as_i64(),
            other => return Err(InvalidArgs::expected("times", "a whole number from 0", other)),
        };
        Ok(Self { retryable, message, times })
    }

    fn outcome(self, attempt: u32) -> Outcome {
        match self.times {
            Some(times) if i64::from(attempt) > times => Outcome::Succeeded {
                result: Value::object([("failed_attempts", Value::from(i64::from(attempt) - 1))]),
                amount: None,
            },
            Some(_) | None => Outcome::Failed(Failure {
                code: "tool_failed".into(),
                message: self.message,
                retryable: self.retryable,
                cause: None,
            }),
        }
    }
}

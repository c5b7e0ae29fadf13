//! The commands as people run them.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::server::PROGRAM;

/// What a command did.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the program with these arguments, in an environment that says nothing else than this.
pub fn callonce_with(env: &[(&str, &str)], args: &[&str]) -> Done {
    let mut command = Command::new(PROGRAM);
    command.env_clear().envs(env.iter().copied()).args(args);
    Done::of(command.output().expect("the program runs"))
}

/// Runs the program with these arguments and this on stdin.
pub fn callonce_reading(stdin: &str, args: &[&str]) -> Done {
    let mut command = Command::new(PROGRAM);
    command.env_clear().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut pipe = child.stdin.take().expect("it is piped");
    pipe.write_all(stdin.as_bytes()).expect("it reads its stdin");
    drop(pipe);
    Done::of(child.wait_with_output().expect("it ends"))
}

/// Runs the program with these arguments, in an empty environment.
pub fn callonce(args: &[&str]) -> Done {
    callonce_with(&[], args)
}

impl Done {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("it speaks UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The one JSON document on stdout.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

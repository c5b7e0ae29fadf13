//! What the process exits with: stable numbers, so that scripts can branch on them.

use std::process::ExitCode;

/// The exit codes of all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done.
    Done = 0,
    /// The call failed, finally.
    Failed = 1,
    /// The command line, or the request, is malformed.
    Usage = 2,
    /// The key belongs to another request.
    Conflict = 3,
    /// There is no such call.
    NotFound = 4,
    /// Still open, held, or unknown.
    Open = 5,
    /// A law is broken: what is stored is not what was written.
    Broken = 6,
    /// The call failed, and the same key may try again.
    Retryable = 7,
    /// The server cannot be reached; nothing was sent.
    Unreachable = 69,
    /// The storage fails.
    Storage = 74,
    /// Another server holds the database.
    Locked = 75,
    /// The configuration cannot work.
    Config = 78,
    /// A signal ended it, as shells report an interrupt.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do it: what to tell, and what to exit with.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }
}

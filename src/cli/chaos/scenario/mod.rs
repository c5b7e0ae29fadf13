//! The scenarios: what each does, and how each is played. One file a scenario.

mod concurrent;
mod crash;
mod drop_response;
mod duplicate;
mod new_key;
mod stall;

use std::path::Path;

use super::story::Told;
use crate::cli::exit::Failure;
use crate::cli::output::Format;
use crate::domain::id::IdemKey;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    DropResponse,
    Duplicate,
    Concurrent,
    Crash,
    Stall,
    NewKey,
}

/// A call that moves 100, once.
const CHARGE: &str = r#"{"tool":"charge","args":{"amount":100}}"#;

impl Scenario {
    /// In the order in which they are played.
    pub(super) const ALL: [Self; 6] =
        [Self::DropResponse, Self::Duplicate, Self::Concurrent, Self::Crash, Self::Stall, Self::NewKey];

    /// As it is typed.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DropResponse => drop_response::NAME,
            Self::Duplicate => duplicate::NAME,
            Self::Concurrent => concurrent::NAME,
            Self::Crash => crash::NAME,
            Self::Stall => stall::NAME,
            Self::NewKey => new_key::NAME,
        }
    }

    /// In a sentence.
    pub(super) fn does(self) -> &'static str {
        match self {
            Self::DropResponse => drop_response::DOES,
            Self::Duplicate => duplicate::DOES,
            Self::Concurrent => concurrent::DOES,
            Self::Crash => crash::DOES,
            Self::Stall => stall::DOES,
            Self::NewKey => new_key::DOES,
        }
    }

    /// What has to come of it.
    pub(super) fn demands(self) -> &'static str {
        match self {
            Self::DropResponse => drop_response::DEMANDS,
            Self::Duplicate => duplicate::DEMANDS,
            Self::Concurrent => concurrent::DEMANDS,
            Self::Crash => crash::DEMANDS,
            Self::Stall => stall::DEMANDS,
            Self::NewKey => new_key::DEMANDS,
        }
    }

    /// Plays it on servers of `program`.
    pub(super) async fn play(self, program: &Path, format: Format) -> Result<Told, Failure> {
        match self {
            Self::DropResponse => drop_response::play(program, format).await,
            Self::Duplicate => duplicate::play(program, format).await,
            Self::Concurrent => concurrent::play(program, format).await,
            Self::Crash => crash::play(program, format).await,
            Self::Stall => stall::play(program, format).await,
            Self::NewKey => new_key::play(program, format).await,
        }
    }
}

/// A key by its text. Each scenario begins with an empty database, so its keys need not be random.
fn key(text: &str) -> IdemKey {
    IdemKey::parse(text).expect("our own keys are keys")
}

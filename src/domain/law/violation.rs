//! What is broken, and where exactly.

use std::borrow::Cow;
use std::fmt;

use super::Law;
use crate::domain::id::{CallId, Position, Version};

/// A fact that breaks a law.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which law.
    pub law: Law,
    /// Whose call, as it is stored: a damaged id is no call id.
    pub call: Option<String>,
    /// At which version of the call.
    pub version: Option<Version>,
    /// At which position of the log.
    pub position: Option<Position>,
    /// The column or member that shows it, as in `audit.hash`.
    pub member: Cow<'static, str>,
    /// What is wrong with it.
    pub problem: String,
}

impl Violation {
    /// A violation that concerns no call in particular.
    pub fn new(law: Law, member: impl Into<Cow<'static, str>>, problem: impl Into<String>) -> Self {
        Self {
            law,
            call: None,
            version: None,
            position: None,
            member: member.into(),
            problem: problem.into(),
        }
    }

    /// Says whose call it is.
    #[must_use]
    pub fn of(mut self, call: CallId) -> Self {
        self.call = Some(call.to_string());
        self
    }

    /// Says at which version of the call.
    #[must_use]
    pub fn at(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Says at which position of the log.
    #[must_use]
    pub fn in_log(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.law.number(), self.law.name())?;
        if let Some(call) = &self.call {
            write!(f, "call {call}, ")?;
        }
        if let Some(version) = self.version {
            write!(f, "version {version}, ")?;
        }
        if let Some(position) = self.position {
            write!(f, "position {position}, ")?;
        }
        write!(f, "{}: {}", self.member, self.problem)
    }
}

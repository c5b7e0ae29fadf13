//! What was a call at an earlier version? The fold of its first events, whatever has happened since.

use super::error::StoreError;
use super::record::{Recorded, Snapshot};
use crate::domain::id::Version;

/// Events that are read at once.
const PAGE: usize = 500;

/// A call on its way to one of its versions.
#[derive(Debug, Clone)]
pub struct Rewind {
    upto: Version,
    reached: Snapshot,
    /// Whether the history has no more events.
    ended: bool,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Past {
    /// The call as it was.
    Was(Snapshot),
    /// The call does not have this version.
    NoVersion {
        /// The version that was asked for.
        asked: Version,
        /// Its versions go from 1 to this one.
        last: Version,
    },
    /// There is no such call.
    NoCall,
}

impl Rewind {
    /// Before the first event, on the way to `version`.
    pub const fn to(version: Version) -> Self {
        Self { upto: version, reached: Snapshot::absent(), ended: false }
    }

    /// What to read next of the call's history: the events after this version, at most so many. Nothing once it is there.
    pub fn wants(&self) -> Option<(Version, usize)> {
        let left = self.upto.0.saturating_sub(self.reached.version.0);
        let limit = usize::try_from(left).unwrap_or(PAGE).min(PAGE);
        // Version 0 has no state, but whether there is such a call at all still has to be found out.
        let limit = if self.upto == Version::NONE { PAGE } else { limit };
        (!self.ended && limit > 0).then_some((self.reached.version, limit))
    }

    /// Takes what was read.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] names an event that does not follow, or cannot have happened.
    pub fn take(&mut self, events: &[Recorded]) -> Result<(), StoreError> {
        self.ended = events.is_empty();
        for recorded in events {
            self.reached = self.reached.replay(recorded)?;
        }
        Ok(())
    }

    /// The call as it was, or why there is none.
    pub fn outcome(self) -> Past {
        match (self.reached.version, self.upto) {
            (Version::NONE, _) => Past::NoCall,
            (reached, upto) if reached == upto => Past::Was(self.reached),
            (reached, upto) => Past::NoVersion { asked: upto, last: reached },
        }
    }
}

/// Why there is no call at that version, for people.
pub fn no_such_version(asked: Version, last: Version) -> String {
    match last {
        Version(1) => format!("the call has no version {asked}; it has version 1"),
        last => format!("the call has no version {asked}; it has versions 1 to {last}"),
    }
}

//! A call with its place in the log, and an event with its place in the log.

use std::borrow::Cow;

use super::chain::ChainHash;
use super::codec;
use super::error::StoreError;
use super::projection;
use crate::domain::call::Call;
use crate::domain::event::Event;
use crate::domain::evolve::{IllegalEvent, evolve};
use crate::domain::id::{CallId, Position, Version};
use crate::domain::time::Timestamp;

/// A call as of one of its events: the fold of the events up to `version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its state.
    pub call: Call,
    /// The number of its last event.
    pub version: Version,
    /// When its last event happened.
    pub updated_at: Timestamp,
    /// The hash of its last event, which the next one is chained to.
    pub chain: ChainHash,
}

impl Snapshot {
    /// A call that has no event yet.
    pub const fn absent() -> Self {
        Self {
            call: Call::Absent,
            version: Version::NONE,
            updated_at: Timestamp::from_micros(0),
            chain: ChainHash::ROOT,
        }
    }

    /// The call after one more event, and that event as it is to be stored.
    ///
    /// # Errors
    /// [`IllegalEvent`] if it cannot have happened.
    pub fn apply(&self, event: Event) -> Result<(Self, Entry), IllegalEvent> {
        let call = evolve(&self.call, &event)?;
        let call_id = call.request().map(|request| request.call_id).ok_or(IllegalEvent {
            event: event.name(),
            state: call.state_name(),
            rule: "an event belongs to a call",
        })?;
        let version = self.version.next();
        let payload = codec::encode(&event);
        let hash = self.chain.next(call_id, version, event.name(), event.at(), &payload);
        let after = Self { call, version, updated_at: event.at(), chain: hash };
        Ok((after, Entry { call_id, version, event, payload, hash }))
    }

    /// The call after an event that the log holds, once it is proved to be the next one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] names the position of an event that does not follow, or cannot have happened.
    pub fn replay(&self, recorded: &Recorded) -> Result<Self, StoreError> {
        let Recorded { position, entry } = recorded;
        let corrupt = |problem: &dyn std::fmt::Display| {
            StoreError::Corrupt(format!(
                "the event at position {position} (call {}, version {}) {problem}",
                entry.call_id, entry.version
            ))
        };
        let call = evolve(&self.call, &entry.event)
            .map_err(|illegal| corrupt(&format_args!("is illegal: {illegal}")))?;
        if entry.version != self.version.next() {
            return Err(corrupt(&format_args!("follows version {}", self.version)));
        }
        let (event, at) = (&entry.event, entry.event.at());
        if self.chain.next(entry.call_id, entry.version, event.name(), at, &entry.payload) != entry.hash {
            return Err(corrupt(&"is not chained to the one before it"));
        }
        if call.request().is_none_or(|request| request.call_id != entry.call_id) {
            return Err(corrupt(&"belongs to another call"));
        }
        Ok(Self { call, version: entry.version, updated_at: at, chain: entry.hash })
    }

    /// The call after all of `events`, and those events as they are to be stored.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if one of them cannot have happened, [`StoreError::Unavailable`] if one is larger than
    /// [`codec::MAX_EVENT_BYTES`].
    pub fn apply_all(&self, events: Vec<Event>) -> Result<(Self, Vec<Entry>), StoreError> {
        let mut after = self.clone();
        let mut entries = Vec::with_capacity(events.len());
        for event in events {
            let (next, entry) = after.apply(event)?;
            if entry.payload.len() > codec::MAX_EVENT_BYTES {
                let (name, bytes) = (entry.event.name(), entry.payload.len());
                return Err(StoreError::Unavailable(format!(
                    "a `{name}` event of {bytes} bytes is too large"
                )));
            }
            after = next;
            entries.push(entry);
        }
        Ok((after, entries))
    }
}

/// An event with its place in its call, ready to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Whose event it is.
    pub call_id: CallId,
    /// Its number in the call.
    pub version: Version,
    /// What happened.
    pub event: Event,
    /// The whole event in bytes.
    pub payload: Vec<u8>,
    /// Over the call's previous hash and all of the above.
    pub hash: ChainHash,
}

/// An event as the log holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its number in the whole log.
    pub position: Position,
    /// The event.
    pub entry: Entry,
}

impl Recorded {
    /// In a few words, for people.
    pub fn detail(&self) -> Option<Cow<'_, str>> {
        projection::detail(&self.entry)
    }
}

/// A call that ended up where the log cannot have brought it is corrupt, not a case to tolerate.
impl From<IllegalEvent> for StoreError {
    fn from(illegal: IllegalEvent) -> Self {
        Self::Corrupt(illegal.to_string())
    }
}

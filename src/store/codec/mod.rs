//! What is an event in bytes? A frame of our own round a body that bincode writes; see `frame` for the bytes.
//!
//! The body of each kind of event is one private struct a schema version. A new member is a new struct with the next
//! version and a `From`; old structs stay, so that the log can be read for ever. `v1` is the only file that knows bincode.

mod frame;
mod v1;

use crate::domain::event::Event;
use frame::{Frame, Kind};

/// The largest event, in bytes: a request is at most 1 MiB and grows at most fivefold in canonical form, and a tool's
/// answer has to be read by people. A stored length beyond it is damage, and is refused before anything is allocated.
pub const MAX_EVENT_BYTES: usize = 64 << 20;

/// Why bytes are not an event. Whoever stored them did not write these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// There is not even a frame.
    #[error("{0} bytes are too few for an event")]
    TooShort(usize),
    /// The first byte is not one this program writes.
    #[error("the event has the unknown format {0}")]
    UnknownFormat(u8),
    /// A kind of event that this program does not know.
    #[error("the event is of the unknown kind {0}")]
    UnknownKind(u8),
    /// A version of the kind's schema that this program does not know: perhaps a newer one wrote it.
    #[error("the `{kind}` event has the unknown schema version {version}")]
    UnknownVersion {
        /// The event's name.
        kind: &'static str,
        /// Its schema version.
        version: u8,
    },
    /// Truncated, or something was appended.
    #[error("the `{kind}` event says it has {says} bytes and has {has}")]
    WrongLength {
        /// The event's name.
        kind: &'static str,
        /// What the frame says.
        says: usize,
        /// How many there are.
        has: usize,
    },
    /// The body does not hold what its schema says.
    #[error("the `{kind}` event is damaged: {problem}")]
    Body {
        /// The event's name.
        kind: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// The bytes of an event, always in the newest schema.
pub fn encode(event: &Event) -> Vec<u8> {
    frame::wrap(Kind::of(event), v1::VERSION, |out| v1::encode(event, out))
}

/// The event that these bytes are.
///
/// # Errors
/// [`CodecError`] for anything that [`encode`] did not write, in this or an older version; never a panic, and never an
/// allocation larger than the bytes given.
pub fn decode(bytes: &[u8]) -> Result<Event, CodecError> {
    let Frame { kind, version, body } = frame::unwrap(bytes)?;
    match version {
        v1::VERSION => {
            v1::decode(kind, body).map_err(|problem| CodecError::Body { kind: kind.name(), problem })
        }
        version => Err(CodecError::UnknownVersion { kind: kind.name(), version }),
    }
}

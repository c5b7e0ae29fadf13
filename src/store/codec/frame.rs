//! What surrounds an event's body, so that it can be told what it is before any of it is believed.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format of the frame, [`FORMAT`] |
//! | 1 | kind of event, [`Kind`] |
//! | 1 | version of that kind's schema |
//! | 4 | length of the body, lowest byte first |
//! | the rest | the body |

use super::{CodecError, MAX_EVENT_BYTES};
use crate::domain::event::Event;

/// The format of the frame itself.
const FORMAT: u8 = 1;
/// Bytes before the body.
const HEADER_BYTES: usize = 7;

/// The kinds of events, with the byte that each has in the log for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Created = 1,
    Claimed = 2,
    Succeeded = 3,
    Failed = 4,
    RetryReset = 5,
    Recover = 6,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Created, Self::Claimed, Self::Succeeded, Self::Failed, Self::RetryReset, Self::Recover];

    pub(super) const fn of(event: &Event) -> Self {
        match event {
            Event::Created { .. } => Self::Created,
            Event::Claimed { .. } => Self::Claimed,
            Event::Succeeded { .. } => Self::Succeeded,
            Event::Failed { .. } => Self::Failed,
            Event::RetryReset { .. } => Self::RetryReset,
            Event::Recover { .. } => Self::Recover,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Claimed => "claimed",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::RetryReset => "retry_reset",
            Self::Recover => "recover",
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// A frame whose outside is as it should be; nothing is known of its body yet.
pub(super) struct Frame<'a> {
    pub(super) kind: Kind,
    pub(super) version: u8,
    pub(super) body: &'a [u8],
}

/// Puts a frame round what `body` appends.
pub(super) fn wrap(kind: Kind, version: u8, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(&[FORMAT, kind as u8, version, 0, 0, 0, 0]);
    body(&mut bytes);
    let length = u32::try_from(bytes.len() - HEADER_BYTES).unwrap_or(u32::MAX);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// Takes the frame off.
pub(super) fn unwrap(bytes: &[u8]) -> Result<Frame<'_>, CodecError> {
    let Some((&[format, kind, version, length @ ..], body)) = bytes.split_first_chunk::<HEADER_BYTES>()
    else {
        return Err(CodecError::TooShort(bytes.len()));
    };
    if format != FORMAT {
        return Err(CodecError::UnknownFormat(format));
    }
    let kind = Kind::from_byte(kind).ok_or(CodecError::UnknownKind(kind))?;
    let says = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if says != body.len() || says > MAX_EVENT_BYTES {
        return Err(CodecError::WrongLength { kind: kind.name(), says, has: body.len() });
    }
    Ok(Frame { kind, version, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_byte_and_the_events_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_byte(kind as u8), Some(kind));
        }
        assert_eq!(Kind::from_byte(0), None);
        assert_eq!(Kind::from_byte(7), None);
    }
}

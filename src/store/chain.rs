//! Is the log still the one that was written? Each event's hash covers the hash of the one before it.

use std::fmt;
use std::io::Write as _;

use sha2::{Digest, Sha256};

use crate::domain::id::{CallId, Version};
use crate::domain::time::Timestamp;

/// The hash of an event, and through it of all the events of its call so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash([u8; 32]);

/// Bytes of a call id's text: `c_` and 32 hex digits.
const CALL_ID_BYTES: usize = 34;

impl ChainHash {
    /// What the first event of a call is chained to.
    pub const ROOT: Self = Self([0; 32]);

    /// The hash of the event that follows the one with this hash.
    ///
    /// It is SHA-256 over these bytes in this order, numbers with their highest byte first. Every part has a fixed length,
    /// says its own, or ends the input, so no two events have one input:
    ///
    /// | bytes | what |
    /// |---|---|
    /// | 32 | the hash of the call's previous event, or zeros |
    /// | 34 | the call id as text |
    /// | 8 | the version, unsigned |
    /// | 1 + n | the event's name, after its length |
    /// | 8 | the time in microseconds since 1970, signed |
    /// | the rest | the payload, which is the whole event |
    #[must_use]
    pub fn next(
        self,
        call_id: CallId,
        version: Version,
        event_name: &str,
        at: Timestamp,
        payload: &[u8],
    ) -> Self {
        let mut head = Vec::with_capacity(128);
        head.extend_from_slice(&self.0);
        write!(head, "{call_id}").expect("a Vec takes any text");
        debug_assert_eq!(head.len(), self.0.len() + CALL_ID_BYTES);
        head.extend_from_slice(&version.0.to_be_bytes());
        head.push(u8::try_from(event_name.len()).expect("event names are short words"));
        head.extend_from_slice(event_name.as_bytes());
        head.extend_from_slice(&at.as_micros().to_be_bytes());
        Self(Sha256::new().chain_update(&head).chain_update(payload).finalize().into())
    }

    /// The bytes, as they are stored.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From stored bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_as_documented() {
        let call_id = CallId::from_bytes([0xab; 16]);
        let mut input = vec![7; 32];
        input.extend_from_slice(b"c_abababababababababababababababab");
        input.extend_from_slice(&[0, 0, 0, 0, 0, 0, 1, 2]);
        input.extend_from_slice(b"\x07claimed");
        input.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]);
        input.extend_from_slice(b"payload");
        let expected: [u8; 32] = Sha256::digest(&input).into();

        let at = Timestamp::from_micros(-2);
        let next = ChainHash([7; 32]).next(call_id, Version(258), "claimed", at, b"payload");
        assert_eq!(next, ChainHash(expected));
    }

    #[test]
    fn every_part_counts() {
        let hash = |previous, id, version, name, at, payload: &[u8]| {
            ChainHash([previous; 32]).next(
                CallId::from_bytes([id; 16]),
                Version(version),
                name,
                Timestamp::from_micros(at),
                payload,
            )
        };
        let all = [
            hash(0, 1, 1, "failed", 1, b"p"),
            hash(1, 1, 1, "failed", 1, b"p"),
            hash(0, 2, 1, "failed", 1, b"p"),
            hash(0, 1, 2, "failed", 1, b"p"),
            hash(0, 1, 1, "failer", 1, b"p"),
            hash(0, 1, 1, "failed", 2, b"p"),
            hash(0, 1, 1, "failed", 1, b"q"),
            hash(0, 1, 1, "failed", 1, b""),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "input {i} shares its hash with a later one");
        }
    }
}

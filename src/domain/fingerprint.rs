//! What a request asks for, in 32 bytes: tells "the same again" from "the same key, another request".

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::json::{Canonical, write_string};

/// The version of the rule below, stored with each call: a fingerprint is only comparable with one of the
/// same scheme.
pub const SCHEME: u8 = 1;

/// SHA-256 over the canonical form of `{"args":…,"tool":…}`; 64 lower-case hexadecimal digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// The fingerprint of a call of `tool` with `args`.
pub fn fingerprint(tool: &str, args: &Canonical) -> Fingerprint {
    // "args" sorts before "tool" and the args are canonical already, so the joined parts are canonical too.
    let mut after_args = String::with_capacity(tool.len() + 12);
    after_args.push_str(r#","tool":"#);
    write_string(&mut after_args, tool);
    after_args.push('}');
    let hash = Sha256::new().chain_update(r#"{"args":"#).chain_update(args.as_str()).chain_update(after_args);
    Fingerprint(hash.finalize().into())
}

impl Fingerprint {
    /// The fingerprint with these bytes, as storage keeps it.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a fingerprint is 64 lower-case hexadecimal digits")]
pub struct InvalidFingerprint;

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(InvalidFingerprint),
        };
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(InvalidFingerprint) };
        if pairs.len() != 32 {
            return Err(InvalidFingerprint);
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Ok(Self(bytes))
    }
}

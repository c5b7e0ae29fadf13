//! The names things have: newtypes that parse, and never default.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use uuid::Uuid;

/// Longest accepted idempotency key, in bytes: the limit most public APIs share, and one that every database can index.
pub const MAX_KEY_BYTES: usize = 255;
/// Longest accepted client id, in bytes: as for keys.
pub const MAX_CLIENT_ID_BYTES: usize = 255;
/// Longest accepted tool name, in bytes: names are written by people.
pub const MAX_TOOL_NAME_BYTES: usize = 128;

/// Why a text is not the name it was given for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {problem}")]
pub struct InvalidId {
    what: &'static str,
    problem: String,
}

impl InvalidId {
    fn new(what: &'static str, problem: impl Into<String>) -> Self {
        Self { what, problem: problem.into() }
    }
}

/// Names a call: `c_` and 32 hex digits. Opaque to clients; inside it is a UUID of version 7, so that ids made in
/// order are stored in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(Uuid);

impl CallId {
    const PREFIX: &str = "c_";

    /// Takes identity that was drawn outside.
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// The sixteen bytes, as they are stored in events.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// From the sixteen bytes of an event.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The id of this call's effect. It is fixed before any tool runs and is the same for all attempts, so a
    /// downstream that honours it as an idempotency key applies the effect once.
    pub const fn effect_id(&self) -> EffectId {
        EffectId(self.0)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex_id(f, Self::PREFIX, &self.0)
    }
}

impl FromStr for CallId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse_hex_id("call id", Self::PREFIX, text).map(Self)
    }
}

/// Names a call's one effect: `eff_` and the 32 hex digits of the call's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(Uuid);

impl EffectId {
    const PREFIX: &str = "eff_";
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex_id(f, Self::PREFIX, &self.0)
    }
}

impl FromStr for EffectId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse_hex_id("effect id", Self::PREFIX, text).map(Self)
    }
}

fn write_hex_id(f: &mut fmt::Formatter<'_>, prefix: &str, uuid: &Uuid) -> fmt::Result {
    let mut hex = [0u8; 32];
    f.write_str(prefix)?;
    f.write_str(uuid.simple().encode_lower(&mut hex))
}

fn parse_hex_id(what: &'static str, prefix: &str, text: &str) -> Result<Uuid, InvalidId> {
    let hex = text
        .strip_prefix(prefix)
        .ok_or_else(|| InvalidId::new(what, format!("starts with `{prefix}`, this one does not")))?;
    if hex.len() != 32 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(InvalidId::new(what, format!("is `{prefix}` and 32 lower-case hex digits")));
    }
    Uuid::try_parse(hex).map_err(|error| InvalidId::new(what, error.to_string()))
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a text that is a valid name of this kind.
            ///
            /// # Errors
            /// [`InvalidId`] says which rule the text breaks.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                let check: fn(&str) -> Result<(), String> = $check;
                check(text).map_err(|problem| InvalidId::new($what, problem))?;
                Ok(Self(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// The client's `Idempotency-Key`: 1 to 255 visible ASCII characters; one key names one intended call.
    IdemKey,
    "idempotency key",
    |text| {
        check_length(text, MAX_KEY_BYTES)?;
        match text.bytes().position(|b| !b.is_ascii_graphic() || matches!(b, b'"' | b',' | b';')) {
            None => Ok(()),
            Some(at) => Err(format!("has a character at byte {at} that is not allowed: use visible ASCII without `\"`, `,` and `;`")),
        }
    }
);

text_id!(
    /// Who sent a call, as the client says it; stored and listed, never part of the fingerprint.
    ClientId,
    "client_id",
    |text| check_length(text, MAX_CLIENT_ID_BYTES)
);

text_id!(
    /// The name of a tool.
    ToolName,
    "tool",
    |text| {
        check_length(text, MAX_TOOL_NAME_BYTES)?;
        match text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')) {
            true => Ok(()),
            false => Err("is made of ASCII letters, digits, `_`, `-` and `.`".into()),
        }
    }
);

text_id!(
    /// Who holds a lease: a process and the random id it drew when it started, so that a process id that comes back
    /// (every container has its pid 1) is never taken for the owner.
    Owner,
    "owner",
    |text| check_length(text, MAX_CLIENT_ID_BYTES)
);

fn check_length(text: &str, most: usize) -> Result<(), String> {
    match text.len() {
        0 => Err("is empty".into()),
        n if n > most => Err(format!("is {n} bytes long; {most} are allowed")),
        _ => Ok(()),
    }
}

/// The number of a call's last event, from 1; 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Version {
    /// Of a call that has no event yet.
    pub const NONE: Self = Self(0);

    /// The version after the next event.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of an event in the whole log, from 1; 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// Before the first event.
    pub const START: Self = Self(0);
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

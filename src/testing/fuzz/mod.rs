//! What must hold for any bytes at all. The fuzzers and the tests over their corpus run the same functions.
//!
//! Each property panics if it is broken; that is how a fuzzer learns of it.

mod commands;
mod events;
mod headers;
mod json;

pub use commands::command_sequence;
pub use events::{event_frame, replay};
pub use headers::{key_header, prefer_header};
pub use json::{canonical_json, request_body};

/// A property, by the name of its fuzz target and of its folder in the corpus.
pub type Property = (&'static str, fn(&[u8]));

/// All of them.
pub const PROPERTIES: [Property; 7] = [
    ("canonical_json", canonical_json),
    ("request_body", request_body),
    ("key_header", key_header),
    ("prefer_header", prefer_header),
    ("event_frame", event_frame),
    ("replay", replay),
    ("command_sequence", command_sequence),
];

/// Choices read from bytes, one after the other; all zero once the bytes are used up, so that every input is one.
pub(super) struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }

    pub(super) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }
}

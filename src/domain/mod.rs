//! Decides: command and call give events, event and call give the next call. No I/O, no clock, no async.
pub mod fingerprint;
pub mod json;

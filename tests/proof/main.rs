//! Is what is stored what was written, and is it noticed if not?

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod cells;
mod clean;
mod command;
mod damage;
mod forged;
mod laws;
mod past;
mod place;
mod positions;
mod rebuild;
mod tampering;

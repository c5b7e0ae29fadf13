//! Is what is stored what was written, and is it noticed if not?

#![allow(clippy::unwrap_used)]

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

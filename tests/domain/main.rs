//! Does the domain decide rightly?

mod fingerprint;
mod json;
mod state_machine;

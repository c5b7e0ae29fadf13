//! Does the domain decide rightly?

mod fingerprint;
mod json;

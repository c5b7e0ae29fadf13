//! The test kit: what tests of every floor need, and production never imports.

pub mod given;

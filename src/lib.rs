//! callonce makes a tool call happen once.
pub mod domain;
pub mod engine;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

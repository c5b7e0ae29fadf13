//! callonce makes a tool call happen once.
pub mod cli;
pub mod domain;
pub mod engine;
pub mod http;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

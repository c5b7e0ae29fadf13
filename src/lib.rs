//! callonce makes a tool call happen once.
pub mod domain;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

//! callonce makes a tool call happen once.
pub mod domain;
pub mod http;

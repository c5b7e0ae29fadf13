//! The test kit: what tests of every floor need, and production never imports.

pub mod app;
pub mod faulty_store;
pub mod fuzz;
pub mod given;
pub mod hostile;
pub mod json_texts;
pub mod many_calls;
pub mod random_calls;
pub mod raw_http;
pub mod store_contract;

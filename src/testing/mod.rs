//! The test kit: what tests of every floor need, and production never imports.

pub mod corpus;
pub mod faulty_store;
pub mod random_calls;
pub mod store_contract;

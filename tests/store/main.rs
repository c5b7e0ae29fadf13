//! Do the stores agree, and does the one in a file keep its promise when things go wrong?

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod contract;
mod support;

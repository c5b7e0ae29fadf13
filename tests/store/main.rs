//! Do the stores agree, and does the one in a file keep its promise when things go wrong?

#![expect(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "in a test a panic is the report")]

mod checkpoint;
mod child;
mod codec;
mod contract;
mod crash;
mod failures;
mod group_commit;
mod head;
mod opening;
mod second_decoder;
mod support;
mod tables;

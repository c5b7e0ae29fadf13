//! What is stored, in numbers.

use std::collections::BTreeMap;

use crate::domain::call::Status;
use crate::domain::id::Position;
use crate::domain::time::Timestamp;

/// Counters of the whole store, equal to the fold of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Keys taken.
    pub calls: u64,
    /// Effects recorded.
    pub effects: u64,
    /// Calls by status, those with none left out.
    pub by_status: BTreeMap<Status, u64>,
    /// Running calls that are held.
    pub held: u64,
    /// Calls by their number of attempts, those with none left out.
    pub attempts: BTreeMap<u32, u64>,
    /// When the oldest pending call was created.
    pub oldest_pending: Option<Timestamp>,
    /// Running calls whose lease is over, held ones aside: the next sweep recovers them.
    pub lease_over: u64,
    /// The last event of the log.
    pub position: Option<Position>,
    /// Bytes of the write-ahead log, where there is one.
    pub wal_bytes: u64,
}

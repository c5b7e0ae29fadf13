//! How a store can fail.

use super::record::Snapshot;

/// Why an append did not happen.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The call is not at the version it was read at; nothing was written.
    #[error("the call has moved on to version {}", .0.version)]
    Conflict(Box<Snapshot>),
    /// The store failed; not acknowledged.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a store could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached or is busy for longer than it is worth waiting; nothing was written.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// There is no space left; nothing was written, and what is stored can still be read.
    #[error("the storage is full: {0}")]
    Full(String),
    /// What is stored is not what was written. Never answered as if it were.
    #[error("the store is corrupt: {0}")]
    Corrupt(String),
}

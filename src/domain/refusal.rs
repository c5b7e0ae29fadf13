//! Every way `decide` can say no, in order of precedence. A refusal changes nothing.

use super::time::Timestamp;

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such call.
    #[error("no such call")]
    NotFound,
    /// The key belongs to another request.
    #[error("this key was used for another request; it differs in {}", differences(.paths))]
    IdempotencyConflict {
        /// The members of the request that differ, by path.
        paths: Vec<String>,
    },
    /// The attempt that reports is not the one that may finish the call.
    #[error("attempt {attempt} is not the call's open attempt (the last was {current})")]
    Stale {
        /// Which attempt reported.
        attempt: u32,
        /// How many attempts there were.
        current: u32,
    },
    /// The call can never change any more.
    #[error("the call is final")]
    Final,
    /// The call's last attempt has an unknown outcome.
    #[error("the call is held: the outcome of its last attempt is unknown")]
    Held,
    /// Another attempt holds the lease.
    #[error("another attempt holds the lease")]
    Leased {
        /// Until when.
        until: Timestamp,
    },
    /// The call does not wait to be claimed.
    #[error("the call is not pending")]
    NotPending,
    /// The call is not to be claimed yet.
    #[error("the call is not due yet")]
    NotDue {
        /// When it will be.
        due: Timestamp,
    },
    /// The call is not held, so there is nothing to settle.
    #[error("the call is not held")]
    NotHeld,
    /// A success has an effect exactly if the attempt's tool has a side effect.
    #[error("a success of this attempt must {} an effect", if *.owed { "record" } else { "not record" })]
    EffectMismatch {
        /// Whether an effect is owed.
        owed: bool,
    },
}

fn differences(paths: &[String]) -> String {
    match paths {
        [] => "its tool".into(),
        paths => paths.join(", "),
    }
}

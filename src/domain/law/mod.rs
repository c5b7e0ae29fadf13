//! What always holds: one file a law, and whoever looks for a broken one uses these functions.
//!
//! | law | file | statement |
//! |---|---|---|
//! | L1 | [`one_call_per_key`] | a key leads to one call, forever |
//! | L2 | [`one_effect_per_call`] | a call has at most one effect, and exactly one if it succeeded with a tool that has a side effect |
//! | L3 | [`one_runner`] | at most one attempt holds the lease; attempt numbers strictly rise; only the current one finishes the call |
//! | L4 | [`final_is_final`] | a final answer never changes, once anybody could have seen it |
//! | L5 | [`same_request`] | a known key with another request changes nothing and runs nothing |
//! | L6 | [`acknowledged_is_durable`] | what any client has read in a 2xx answer survives kill -9 and power loss |
//! | L7 | [`log_is_truth`] | versions have no gap, each event is legal, and what is stored beside the log equals its fold |
//! | L8 | [`everything_ends`] | once faults stop, every call becomes final, failed-retryable or held |
//!
//! A check is pure and looks at [`Facts`]: one call's history, and what else is known about the call. It does not use
//! the decider, and where it can, not the fold either, so that a mistake in those does not hide itself.

pub mod acknowledged_is_durable;
pub mod everything_ends;
pub mod final_is_final;
pub mod log_is_truth;
pub mod one_call_per_key;
pub mod one_effect_per_call;
pub mod one_runner;
pub mod same_request;

mod facts;
mod violation;

pub use facts::{Answer, Facts, Happened, History, Observed, Stored, StoredEffect};
pub use violation::Violation;

/// A law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// L1.
    OneCallPerKey,
    /// L2.
    OneEffectPerCall,
    /// L3.
    OneRunner,
    /// L4.
    FinalIsFinal,
    /// L5.
    SameRequest,
    /// L6.
    AcknowledgedIsDurable,
    /// L7.
    LogIsTruth,
    /// L8.
    EverythingEnds,
}

impl Law {
    /// Its number, as in `L1`.
    pub const fn number(self) -> &'static str {
        match self {
            Self::OneCallPerKey => "L1",
            Self::OneEffectPerCall => "L2",
            Self::OneRunner => "L3",
            Self::FinalIsFinal => "L4",
            Self::SameRequest => "L5",
            Self::AcknowledgedIsDurable => "L6",
            Self::LogIsTruth => "L7",
            Self::EverythingEnds => "L8",
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneCallPerKey => "one call per key",
            Self::OneEffectPerCall => "one effect per call",
            Self::OneRunner => "one runner",
            Self::FinalIsFinal => "final is final",
            Self::SameRequest => "same key, same request",
            Self::AcknowledgedIsDurable => "acknowledged is durable",
            Self::LogIsTruth => "the log is the truth",
            Self::EverythingEnds => "everything ends",
        }
    }
}

/// How a law is checked on one call.
pub type Check = fn(&Facts<'_>) -> Vec<Violation>;

/// Each law and its check on one call. L1 also has one across calls, [`one_call_per_key::check_keys`].
pub const LAWS: [(Law, Check); 8] = [
    (Law::OneCallPerKey, one_call_per_key::check),
    (Law::OneEffectPerCall, one_effect_per_call::check),
    (Law::OneRunner, one_runner::check),
    (Law::FinalIsFinal, final_is_final::check),
    (Law::SameRequest, same_request::check),
    (Law::AcknowledgedIsDurable, acknowledged_is_durable::check),
    (Law::LogIsTruth, log_is_truth::check),
    (Law::EverythingEnds, everything_ends::check),
];

/// All that is broken about one call.
pub fn check_call(facts: &Facts<'_>) -> Vec<Violation> {
    LAWS.iter().flat_map(|(_, check)| check(facts)).collect()
}

/// All that is broken about these calls, each by itself and together.
pub fn check_all(calls: &[Facts<'_>]) -> Vec<Violation> {
    let keys = calls.iter().filter_map(|facts| {
        let request = facts.history.last().request()?;
        Some((&request.key, facts.history.call_id()))
    });
    let across = one_call_per_key::check_keys(keys);
    calls.iter().flat_map(check_call).chain(across).collect()
}

//! Which states a call can go through, one step a version: written down from what is promised, not from the server.

use std::collections::BTreeSet;

use crate::history::Call;

/// What a client can tell apart, and whether an attempt may still report while the call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Waits to be run; so many attempts have begun. `open`: the last one may still report.
    Pending {
        attempts: u64,
        open: bool,
    },
    Running {
        attempts: u64,
    },
    Held {
        attempts: u64,
    },
    /// The same key may try again.
    Failed {
        attempts: u64,
    },
    Succeeded {
        attempts: u64,
    },
    FailedForGood {
        attempts: u64,
    },
}

impl State {
    /// What every call begins as, at version 1.
    pub const CREATED: Self = Self::Pending { attempts: 0, open: false };

    /// The state that an answer shows; none if what it shows does not fit together.
    pub fn of(call: &Call) -> Option<Self> {
        let attempts = call.attempt;
        let shows = (call.result.is_some(), call.error.is_some(), call.held.is_some());
        let state = match (call.status.as_str(), call.is_final, shows) {
            ("pending", false, (false, false, false)) => Self::Pending { attempts, open: false },
            ("running", false, (false, false, false)) if attempts > 0 => Self::Running { attempts },
            ("running", false, (false, false, true)) if attempts > 0 => Self::Held { attempts },
            ("failed", false, (false, true, false)) if attempts > 0 => Self::Failed { attempts },
            ("succeeded", true, (true, false, false)) if attempts > 0 => Self::Succeeded { attempts },
            ("failed", true, (false, true, false)) => Self::FailedForGood { attempts },
            _ => return None,
        };
        // An effect id is shown once there is an effect.
        (call.effect_id.is_none() || call.status == "succeeded").then_some(state)
    }

    fn attempts(self) -> u64 {
        match self {
            Self::Pending { attempts, .. }
            | Self::Running { attempts }
            | Self::Held { attempts }
            | Self::Failed { attempts }
            | Self::Succeeded { attempts }
            | Self::FailedForGood { attempts } => attempts,
        }
    }

    /// What a client sees of it: not whether an attempt is open.
    fn as_seen(self) -> Self {
        match self {
            Self::Pending { attempts, .. } => Self::Pending { attempts, open: false },
            Self::Running { .. }
            | Self::Held { .. }
            | Self::Failed { .. }
            | Self::Succeeded { .. }
            | Self::FailedForGood { .. } => self,
        }
    }

    /// Where one step leads.
    fn next(self) -> Vec<Self> {
        let ends = |attempts| {
            [Self::Succeeded { attempts }, Self::Failed { attempts }, Self::FailedForGood { attempts }]
        };
        match self {
            Self::Pending { attempts, open } => {
                // Claimed; or given up, because it had all its attempts; or the lost attempt reports after all.
                let mut next =
                    vec![Self::Running { attempts: attempts + 1 }, Self::FailedForGood { attempts }];
                if open {
                    next.extend(ends(attempts));
                }
                next
            }
            Self::Running { attempts } => {
                let mut next = vec![Self::Pending { attempts, open: true }, Self::Held { attempts }];
                next.extend(ends(attempts));
                next
            }
            Self::Held { attempts } => {
                let mut next = vec![Self::Pending { attempts, open: false }];
                next.extend(ends(attempts));
                next
            }
            Self::Failed { attempts } => vec![Self::Pending { attempts, open: false }],
            Self::Succeeded { .. } | Self::FailedForGood { .. } => vec![],
        }
    }
}

/// Whether `from` can have become `to` in exactly so many steps, whatever was not seen between.
pub fn can_become(from: State, to: State, steps: u64) -> bool {
    let mut states = BTreeSet::from([from]);
    if let State::Pending { attempts: 1.., .. } = from {
        states = [true, false].map(|open| State::Pending { attempts: from.attempts(), open }).into();
    }
    for _ in 0..steps {
        let next = states.iter().flat_map(|state| state.next());
        // Attempts never become fewer, so what has too many leads nowhere.
        states = next.filter(|state| state.attempts() <= to.attempts()).collect();
        if states.is_empty() {
            return false;
        }
    }
    states.iter().any(|state| state.as_seen() == to)
}

#[test]
fn ways_have_exactly_as_many_steps_as_there_are_versions() {
    use State::*;
    let created = State::CREATED;
    let waits = |attempts| Pending { attempts, open: false };
    for (from, to, steps) in [
        (created, created, 0),
        (created, Running { attempts: 1 }, 1),
        (created, Succeeded { attempts: 1 }, 2),
        (created, Failed { attempts: 1 }, 2),
        (Failed { attempts: 1 }, waits(1), 1),
        (Failed { attempts: 1 }, Succeeded { attempts: 2 }, 3),
        // Given up, run again, done.
        (created, Succeeded { attempts: 2 }, 4),
        (Running { attempts: 1 }, waits(1), 1),
        // Given up, and then the lost attempt reports.
        (waits(1), Succeeded { attempts: 1 }, 1),
        (created, Succeeded { attempts: 1 }, 3),
        (Running { attempts: 3 }, Held { attempts: 3 }, 1),
        (waits(20), FailedForGood { attempts: 20 }, 1),
        (created, Succeeded { attempts: 5 }, 10),
    ] {
        assert!(can_become(from, to, steps), "{from:?} to {to:?} in {steps}");
    }
    for (from, to, steps) in [
        (created, created, 1),
        (created, Succeeded { attempts: 1 }, 1),
        (created, Succeeded { attempts: 1 }, 4),
        (created, Succeeded { attempts: 0 }, 1),
        (created, Running { attempts: 2 }, 2),
        (Running { attempts: 2 }, waits(1), 1),
        (Succeeded { attempts: 1 }, waits(1), 1),
        (FailedForGood { attempts: 1 }, Running { attempts: 2 }, 1),
        (Failed { attempts: 1 }, Running { attempts: 2 }, 1),
        (Held { attempts: 1 }, Running { attempts: 1 }, 1),
        (created, Held { attempts: 1 }, 1),
    ] {
        assert!(!can_become(from, to, steps), "{from:?} to {to:?} in {steps}");
    }
}

//! L5: a request with a known key and another fingerprint changes nothing and runs nothing.
//!
//! Enforced by the decider (a conflict appends no event) and by the fold, which has no event that could change what was
//! asked. Source: `docs/laws.md`.
//!
//! A refused request leaves no trace, so data shows one half: what is stored is what was asked first, and its fingerprint
//! is that of its own tool and args. That the second request was answered with a conflict, tests of the server show.

use super::{Facts, Law, Violation};
use crate::domain::event::Event;
use crate::domain::fingerprint::fingerprint;

/// The fingerprint is made again from tool and args; the stored call asks what the first event asked.
pub fn check(facts: &Facts<'_>) -> Vec<Violation> {
    let history = facts.history;
    let mut broken = Vec::new();
    let Some(first) = history.events().first() else { return broken };
    let Event::Created { request } = &first.event else { return broken };
    let made_again = fingerprint(request.tool.as_str(), &request.args);
    if made_again != request.fingerprint {
        let problem = format!("is {}, and its tool and args make {made_again}", request.fingerprint);
        broken.push(history.broken_at(Law::SameRequest, first, "fingerprint", problem));
    }
    if let Some(stored) = facts.stored.and_then(|stored| stored.call.request()) {
        for (member, same) in [
            ("fingerprint", stored.fingerprint == request.fingerprint),
            ("tool", stored.tool == request.tool),
            ("args", stored.args == request.args),
        ] {
            if !same {
                let problem = "is not what the call was created with";
                broken.push(Violation::new(Law::SameRequest, member, problem).of(history.call_id()));
            }
        }
    }
    broken
}

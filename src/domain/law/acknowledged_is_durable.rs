//! L6: what any client has read in a 2xx answer (also to a GET) survives kill -9 and power loss.
//!
//! Enforced by the writer (nobody is answered before the fsync returned), by reads that see committed state only, by the
//! checkpoint before the first answer after a crash, and by the head file, which notices a lost tail. Source: `docs/laws.md`.
//!
//! Data alone cannot show what clients were told. Tests of the server write down what they read, kill it or cut its power,
//! and bring the notes here. `callonce verify` compares the log with the head file: the last thing it is known to have held.

use super::{Answer, Facts, Law, Violation};

/// The log has each version a client was told of, and the call was then as the client was told.
pub fn check(facts: &Facts<'_>) -> Vec<Violation> {
    let history = facts.history;
    let mut broken = Vec::new();
    for observed in facts.observed {
        let problem = match history.at(observed.version) {
            None => {
                format!("a client was told of it, and the log ends at version {}", history.version())
            }
            Some(call) if Answer::of(call).as_ref() == Some(&observed.answer) => continue,
            Some(call) => {
                format!("was {:?} to a client, and the log says {:?}", observed.answer, Answer::of(call))
            }
        };
        let violation = Violation::new(Law::AcknowledgedIsDurable, "answer", problem);
        broken.push(violation.of(history.call_id()).at(observed.version));
    }
    broken
}

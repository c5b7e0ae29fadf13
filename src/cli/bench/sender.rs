//! What one connection does: take the next request that is due, send it until it is answered, note what came of it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::RETRY_AFTER;
use serde::Deserialize;

use super::connection::{Answer, Connection, Lost};
use super::keys::{Key, Keys};
use super::schedule::Schedule;
use super::tally::{Ending, Tally};
use crate::engine::clock::Clock;
use crate::http::client::retry_after;

/// How often one request is sent again before it is given up.
const MOST_RETRIES: u32 = 10;
/// The pause after the first lost connection; doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// What is waited where a refusal names no time.
const USUAL_RETRY_AFTER: Duration = Duration::from_secs(1);
/// The longest that a server may ask to wait: a load that stands still measures nothing.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(10);

/// What all connections of a phase share. One thread runs them all, so nothing here is locked.
pub(super) struct Phase<'a> {
    pub(super) schedule: Schedule,
    pub(super) keys: &'a RefCell<Keys>,
    pub(super) tally: RefCell<Tally>,
    /// Whether answers are to wait until their calls have settled.
    pub(super) wait: bool,
    /// For somebody who watches.
    pub(super) ended: &'a AtomicU64,
}

/// Sends requests over one connection until there is no further one.
pub(super) async fn send_all(phase: &Phase<'_>, mut connection: Connection<'_>) {
    while let Some(due) = phase.schedule.next().await {
        let key = phase.keys.borrow_mut().next();
        let ending = phase.send(&mut connection, &key, due).await;
        phase.ended.fetch_add(1, Ordering::Relaxed);
        // What is refused once is refused always, and a server that is lost answers nobody: no need to ask on.
        if matches!(ending, Ending::Refused | Ending::Unknown) {
            phase.schedule.stop();
        }
    }
}

impl Phase<'_> {
    /// Sends one request, and the same again while that may help.
    async fn send(&self, connection: &mut Connection<'_>, key: &Key, due: Duration) -> Ending {
        let mut may_have_arrived = false;
        for tries in 0.. {
            let answer = connection.exchange(&key.header).await;
            let (ending, code, pause) = match &answer {
                Ok(answer) => match judge(answer.status) {
                    Ending::Accepted => {
                        self.accept(answer, key, due);
                        return Ending::Accepted;
                    }
                    ending @ (Ending::NotTaken | Ending::Refused | Ending::Conflict | Ending::Unknown) => {
                        (ending, code_of(answer), pause_asked_for(answer))
                    }
                },
                Err(lost) => {
                    may_have_arrived |= *lost != Lost::Unreachable;
                    let pause = (FIRST_PAUSE * (1 << tries.min(10))).min(LONGEST_PAUSE);
                    (Ending::NotTaken, lost.code().to_owned(), pause)
                }
            };
            if ending == Ending::NotTaken && tries < MOST_RETRIES {
                self.tally.borrow_mut().retry(code);
                tokio::time::sleep(pause).await;
                continue;
            }
            // A refusal says nothing about an earlier try that was lost. Nor does a server that cannot be reached
            // end a load in any other way than one that does not answer.
            let ending = if may_have_arrived || answer.is_err() { Ending::Unknown } else { ending };
            let mut tally = self.tally.borrow_mut();
            tally.give_up(ending, code, self.schedule.elapsed());
            if let (Ending::Refused, Ok(answer)) = (ending, &answer) {
                tally.refusal.get_or_insert_with(|| refusal(answer));
            }
            return ending;
        }
        unreachable!("a request is given up after {MOST_RETRIES} retries")
    }

    fn accept(&self, answer: &Answer, key: &Key, due: Duration) {
        let now = self.schedule.elapsed();
        let mut tally = self.tally.borrow_mut();
        tally.accept(now.saturating_sub(due), now);
        if key.acknowledge() {
            tally.keys_acknowledged += 1;
        }
        if answer.headers.get("idempotent-replayed").is_some_and(|replayed| replayed == "true") {
            tally.replayed += 1;
        }
        // To read the body costs the sender time, so it is read only where it says something new.
        if self.keys.borrow().repeat() && call_id(answer).is_none_or(|call_id| !key.leads_to(&call_id)) {
            tally.second_calls += 1;
        }
        if self.wait && answer.status == StatusCode::ACCEPTED {
            tally.unsettled += 1;
        }
    }
}

/// What an answer means for its request.
fn judge(status: StatusCode) -> Ending {
    match status.as_u16() {
        200 | 202 => Ending::Accepted,
        // Nothing was read, or nothing was written: the next try may fare better.
        408 | 429 | 503 | 507 => Ending::NotTaken,
        409 => Ending::Conflict,
        400..500 => Ending::Refused,
        _ => Ending::Unknown,
    }
}

fn pause_asked_for(answer: &Answer) -> Duration {
    let asked = answer.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let pause = asked.and_then(|text| retry_after(text, Clock::System.now()));
    pause.unwrap_or(USUAL_RETRY_AFTER).min(LONGEST_RETRY_AFTER)
}

/// An error as a callonce server tells it.
#[derive(Deserialize)]
struct Problem {
    error: Detail,
}

#[derive(Deserialize)]
struct Detail {
    code: String,
    message: String,
}

/// The stable code of an error, or its status where something else than a callonce server answered.
fn code_of(answer: &Answer) -> String {
    match serde_json::from_slice::<Problem>(&answer.body) {
        Ok(problem) => problem.error.code,
        Err(_) => format!("http_{}", answer.status.as_u16()),
    }
}

/// What a refusal says.
fn refusal(answer: &Answer) -> String {
    match serde_json::from_slice::<Problem>(&answer.body) {
        Ok(problem) => format!("{}: {}", problem.error.code, problem.error.message),
        Err(_) => format!("the server answered {}", answer.status),
    }
}

/// The call that an answer names.
fn call_id(answer: &Answer) -> Option<String> {
    #[derive(Deserialize)]
    struct Call {
        call_id: String,
    }
    serde_json::from_slice::<Call>(&answer.body).ok().map(|call| call.call_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_meaning() {
        for (status, ending) in [
            (200, Ending::Accepted),
            (202, Ending::Accepted),
            (400, Ending::Refused),
            (404, Ending::Refused),
            (408, Ending::NotTaken),
            (409, Ending::Conflict),
            (429, Ending::NotTaken),
            (500, Ending::Unknown),
            (502, Ending::Unknown),
            (503, Ending::NotTaken),
            (507, Ending::NotTaken),
            (204, Ending::Unknown),
        ] {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(judge(status), ending, "{status}");
        }
    }
}

//! Sends an intended call until it is answered, always with its one key, and looks the key up before giving up.

use std::time::Duration;

use super::{
    Answer, Ask, Client, ClientError, Disbelief, Intent, Problem, Retry, Seen, Surroundings, Trouble, Try,
    by_key,
};

/// What came of sending a call.
#[derive(Debug)]
pub enum Submitted {
    /// The server has it.
    Accepted(Seen),
    /// No try was answered, but the server has it: a look-up by its key found it.
    Found(Seen),
    /// The server does not take it: any answer that is no success and does not ask to come back.
    Refused {
        /// What it answered.
        answer: Answer,
        /// Whether an earlier try may have been accepted all the same: it was not answered, and this answer is not in the
        /// words of a server that would know.
        may_be_accepted: bool,
    },
}

/// Why a call was given up.
#[derive(Debug, thiserror::Error)]
pub enum GaveUp {
    /// Of no try was anything sent.
    #[error("{0}")]
    NeverSent(ClientError),
    /// What the server has under this key is another request.
    #[error("idempotency_conflict: the key belongs to another request")]
    OtherRequest,
    /// It was answered with a success, but with no call of this key. It may have been accepted.
    #[error("{problem} (status {})", .answer.status)]
    Disbelieved {
        /// What was answered.
        answer: Answer,
        /// Why it is not believed.
        problem: Disbelief,
    },
    /// It may have been accepted.
    #[error("retry_exhausted: {} without an answer that settles it, the last: {trouble}; {lookup}", counted(*.tries))]
    Unknown {
        /// How often it was sent, or tried to.
        tries: u32,
        /// How the last try ended.
        trouble: Trouble,
        /// What looking it up said.
        lookup: Lookup,
    },
}

/// A try that settled nothing.
#[derive(Debug)]
pub struct FailedTry {
    /// How it ended.
    pub trouble: Trouble,
    /// After what pause to try again; none if that is no use, or was done often enough.
    pub pause: Option<Duration>,
}

/// What a look-up that did not find the call says.
#[derive(Debug, thiserror::Error)]
pub enum Lookup {
    /// Not accepted so far; a request that is still on its way may yet arrive.
    #[error("the server has no call with this key so far")]
    NotThere,
    /// The look-up had no answer either, or one that says nothing.
    #[error("looking it up by its key did not help: {0}")]
    Failed(String),
}

impl Submitted {
    /// What an answer to `intent` means. `may_be_accepted` says it of the tries before.
    ///
    /// # Errors
    /// `Disbelieved` if it is a success without a call of this key.
    pub fn of(intent: &Intent, answer: Answer, may_be_accepted: bool) -> Result<Self, GaveUp> {
        match answer.status {
            200..=299 => match Seen::of(&intent.key, answer.body.clone()) {
                Ok(seen) => Ok(Self::Accepted(seen)),
                Err(problem) => Err(GaveUp::Disbelieved { answer, problem }),
            },
            _ => {
                let may_be_accepted = may_be_accepted && Problem::read(&answer).is_none();
                Ok(Self::Refused { answer, may_be_accepted })
            }
        }
    }
}

impl Client {
    /// Sends `intent` until it is answered. Timeouts, broken connections, 429 and 503 are tried again, every time with the
    /// same key; any other answer is returned at once.
    ///
    /// # Errors
    /// See [`GaveUp`]: `NeverSent` only if nothing was sent on any try, `Unknown` only after the look-up by the key.
    pub async fn submit(
        &self,
        intent: &Intent,
        retry: Retry,
        surroundings: &mut impl Surroundings,
    ) -> Result<Submitted, GaveUp> {
        let (mut number, mut was_sent, mut may_be_accepted) = (0, false, false);
        let trouble = loop {
            number += 1;
            let FailedTry { trouble, pause } = match self.try_once(intent, number, retry, surroundings).await
            {
                Ok(answer) => return Submitted::of(intent, answer, may_be_accepted),
                Err(failed) => failed,
            };
            was_sent |= trouble.was_sent();
            may_be_accepted |= trouble.may_be_accepted();
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => break trouble,
            }
        };
        match trouble {
            Trouble::NotSent(error) if !was_sent => Err(GaveUp::NeverSent(error)),
            trouble @ (Trouble::NotSent(_) | Trouble::Lost(_) | Trouble::Busy(_)) => {
                match self.look_up(intent, retry.timeout).await {
                    Ok(seen) if intent.is_of(&seen) => Ok(Submitted::Found(seen)),
                    Ok(_) => Err(GaveUp::OtherRequest),
                    Err(lookup) => Err(GaveUp::Unknown { tries: number, trouble, lookup }),
                }
            }
        }
    }

    /// Sends `intent` once, for the time of this number, and tells of it.
    ///
    /// # Errors
    /// The trouble, and when to try again.
    pub async fn try_once(
        &self,
        intent: &Intent,
        number: u32,
        retry: Retry,
        surroundings: &mut impl Surroundings,
    ) -> Result<Answer, FailedTry> {
        let began = surroundings.uptime();
        let sent = self.post(intent, retry.timeout).await;
        let elapsed = surroundings.uptime().saturating_sub(began);
        let pause = match &sent {
            Err(trouble) if number <= retry.retries && trouble.may_pass() => {
                Some(retry.pause(trouble, number, surroundings.now(), surroundings.chance()))
            }
            Ok(_) | Err(_) => None,
        };
        surroundings.tried(&Try::of(number, &intent.key, &sent, elapsed, pause));
        sent.map_err(|trouble| FailedTry { trouble, pause })
    }

    /// Sends `intent` once.
    ///
    /// # Errors
    /// The trouble, if sending the same again may end otherwise.
    async fn post(&self, intent: &Intent, timeout: Duration) -> Result<Answer, Trouble> {
        let key = Some(intent.key.as_str());
        let ask = Ask { key, body: Some(intent.body()), ..Ask::post("/v1/tool-calls") };
        Trouble::sort(self.ask(ask, timeout).await)
    }

    /// The call that the key leads to, whatever its request.
    ///
    /// # Errors
    /// If there is none so far, or if nobody can tell.
    pub async fn look_up(&self, intent: &Intent, timeout: Duration) -> Result<Seen, Lookup> {
        let path = by_key(&intent.key);
        match self.ask(Ask::get(&path), timeout).await {
            Ok(answer) if matches!(answer.status, 200 | 202) => {
                Seen::of(&intent.key, answer.body).map_err(|problem| Lookup::Failed(problem.to_string()))
            }
            Ok(answer) if Problem::read(&answer).is_some_and(|problem| problem.is_no_such_call()) => {
                Err(Lookup::NotThere)
            }
            Ok(answer) => Err(Lookup::Failed(format!("the server answered {}", answer.status))),
            Err(error) => Err(Lookup::Failed(error.to_string())),
        }
    }
}

fn counted(tries: u32) -> String {
    if tries == 1 { "1 try".into() } else { format!("{tries} tries") }
}

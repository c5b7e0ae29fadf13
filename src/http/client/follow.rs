//! Waits until an accepted call settles, over closed connections and a server that restarts.

use std::time::Duration;

use super::{Answer, Ask, Client, Disbelief, Intent, Problem, Retry, Seen, Surroundings, Trouble, by_key};

/// How long a server is asked to hold one answer. A long wait saves requests, a short one loses less when an answer is lost.
const LONGEST_LOOK: Duration = Duration::from_secs(5);
/// The shortest time between two looks that were answered: what a server says in the `Retry-After` of a 202. Whatever does
/// not wait as it is asked to, a proxy for instance, is not asked without end.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Why nobody can say what became of a call that was accepted.
#[derive(Debug, thiserror::Error)]
pub enum LostSight {
    /// The last look before the time was over had no answer.
    #[error("it was accepted, but then: {0}")]
    Trouble(Trouble),
    /// A look was answered by something that does not pass.
    #[error("it was accepted, but then the server answered {}{}", .0.status, said(.0))]
    Refused(Answer),
    /// A look was answered, but not with the call that was accepted.
    #[error("it was accepted, but then {0}")]
    Disbelieved(Disbelief),
    /// The key leads to another call than before, which must never happen.
    #[error("it was accepted as {before}, but then its key led to {now}")]
    OtherCall {
        /// The id it was accepted with.
        before: String,
        /// The id it has now.
        now: String,
    },
}

impl Client {
    /// Looks at the call of `intent`, last seen as `seen`, until it settles or `wait` is over. Returns it as it was last seen.
    ///
    /// # Errors
    /// If it was lost sight of. It was accepted all the same: what became of it is unknown.
    pub async fn follow(
        &self,
        intent: &Intent,
        mut seen: Seen,
        wait: Duration,
        retry: Retry,
        surroundings: &mut impl Surroundings,
    ) -> Result<Seen, LostSight> {
        let path = by_key(&intent.key);
        let began = surroundings.uptime();
        let (mut failures, mut trouble) = (0, None);
        loop {
            let asked = surroundings.uptime();
            let left = wait.saturating_sub(asked.saturating_sub(began));
            if seen.is_settled() || left.is_zero() {
                return trouble.map_or(Ok(seen), |trouble| Err(LostSight::Trouble(trouble)));
            }
            let ask = Ask { wait: Some(left.min(LONGEST_LOOK)), ..Ask::get(&path) };
            let looked = sort(self.ask(ask, retry.timeout).await)?;
            let took = surroundings.uptime().saturating_sub(asked);
            let pause = match looked {
                Ok(body) => {
                    seen = same_call(&seen, Seen::of(&intent.key, body).map_err(LostSight::Disbelieved)?)?;
                    (failures, trouble) = (0, None);
                    if seen.is_settled() { Duration::ZERO } else { BETWEEN_LOOKS.saturating_sub(took) }
                }
                Err(lost) => {
                    failures += 1;
                    let pause = retry.pause(&lost, failures, surroundings.now(), surroundings.chance());
                    trouble = Some(lost);
                    pause
                }
            };
            tokio::time::sleep(pause.min(left.saturating_sub(took))).await;
        }
    }
}

/// The body of a look that was answered; or the trouble, if it may pass while the time is not over.
fn sort(asked: Result<Answer, super::ClientError>) -> Result<Result<String, Trouble>, LostSight> {
    match Trouble::sort(asked) {
        Ok(answer) if matches!(answer.status, 200 | 202) => Ok(Ok(answer.body)),
        // A server that is being restarted, or what stands before it.
        Ok(answer) if matches!(answer.status, 408 | 500..=599) => Ok(Err(Trouble::Busy(answer))),
        Ok(answer) => Err(LostSight::Refused(answer)),
        Err(trouble) => Ok(Err(trouble)),
    }
}

/// A key leads to one call, forever.
fn same_call(before: &Seen, now: Seen) -> Result<Seen, LostSight> {
    match now.call_id == before.call_id {
        true => Ok(now),
        false => Err(LostSight::OtherCall { before: before.call_id.clone(), now: now.call_id }),
    }
}

fn said(answer: &Answer) -> String {
    Problem::read(answer)
        .map(|problem| format!(" ({}: {})", problem.code, problem.message))
        .unwrap_or_default()
}

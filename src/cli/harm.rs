//! What a careless client does: a new key for every retry. It shows why the careful one never does.

use super::again::Again;
use super::output::say;
use crate::domain::id::IdemKey;
use crate::engine::ids;
use crate::http::client::{
    Client, FailedTry, GaveUp, Intent, Lookup, Retry, Submitted, Surroundings, Trouble,
};

/// The keys of one intention, and so the calls it became.
pub(super) struct Harm {
    keys: Vec<IdemKey>,
}

impl Harm {
    /// Warns of what is to come.
    pub(super) fn begin() -> Self {
        say(
            "WARNING: --new-key-on-retry makes another call of every retry, and each may have its own effect. \
             This shows the harm; never do it in earnest",
        );
        Self { keys: Vec::new() }
    }

    /// Sends `intent` until it is answered, each time under another key: each time as another call.
    pub(super) async fn submit(
        &mut self,
        client: &Client,
        intent: &mut Intent,
        retry: Retry,
        surroundings: &mut impl Surroundings,
    ) -> Result<Submitted, GaveUp> {
        let (mut number, mut was_sent, mut may_be_accepted) = (0, false, false);
        loop {
            number += 1;
            self.keys.push(intent.key.clone());
            let FailedTry { trouble, pause } =
                match client.try_once(intent, number, retry, surroundings).await {
                    Ok(answer) => return Submitted::of(intent, answer, may_be_accepted),
                    Err(failed) => failed,
                };
            was_sent |= trouble.was_sent();
            may_be_accepted |= trouble.may_be_accepted();
            match (pause, trouble) {
                (Some(pause), _) => tokio::time::sleep(pause).await,
                (None, Trouble::NotSent(error)) if !was_sent => return Err(GaveUp::NeverSent(error)),
                (None, trouble) => {
                    let lookup = Lookup::Failed("a careless client does not look".into());
                    return Err(GaveUp::Unknown { tries: number, trouble, lookup });
                }
            }
            intent.key = ids::key();
            say(&format!("WARNING: key {}: another call for the same intention", intent.key));
        }
    }

    /// Says how many calls one intention has become.
    pub(super) async fn tell(&self, client: &Client, intent: &Intent, retry: Retry, base: Option<&str>) {
        let mut calls = 0;
        for key in &self.keys {
            let of_key = Intent { key: key.clone(), ..intent.clone() };
            let again = Again { intent: &of_key, typed_args: None, base };
            let became = match client.look_up(&of_key, retry.timeout).await {
                Ok(seen) => {
                    calls += 1;
                    format!("call {}, {}", seen.call_id, seen.status)
                }
                Err(Lookup::NotThere) => "no call so far".into(),
                Err(Lookup::Failed(problem)) => format!("unknown: {problem}"),
            };
            say(&format!("WARNING: key {key}: {became}; look again with: {}", again.look()));
        }
        say(&format!(
            "WARNING: one intention, {} keys, {calls} calls that the server has; with one key there is never more than 1",
            self.keys.len()
        ));
    }
}

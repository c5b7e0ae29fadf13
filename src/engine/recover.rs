//! Gives up attempts that nobody runs any more: all of a former process at start, those past their lease ever after.

use std::time::Duration;

use tokio::task::JoinSet;

use super::observe::Access;
use super::{Engine, EngineError};
use crate::domain::call::{Call, Status};
use crate::domain::command::{Command, Recover};
use crate::domain::event::Interruption;
use crate::domain::time::Timestamp;
use crate::store::{Snapshot, Store};

/// How often leases are looked at: a small share of any lease.
const EVERY: Duration = Duration::from_millis(200);
/// How many attempts are given up side by side: one batch of the writer.
const PAGE: usize = 256;

impl<S: Store> Engine<S> {
    /// Gives up all that a former process was running, with no wait for leases: one server holds the store at a time,
    /// so every owner but this one is gone. Returns how many there were.
    pub(super) async fn reclaim_all(&self) -> Result<usize, EngineError> {
        self.give_up_all(Timestamp::from_micros(i64::MAX), Interruption::OwnerGone).await
    }

    /// Looks for leases that ran out until the engine stops. An error of the store is noted and the next turn tries
    /// again.
    pub(super) async fn sweep(self) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.inner.stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let now = self.inner.settings.clock.now();
            match self.give_up_all(now, Interruption::LeaseOver).await {
                Ok(0) | Err(EngineError::Store(_)) => {}
                Ok(given_up) => tracing::warn!(given_up, "leases ran out"),
                Err(error) => tracing::error!(%error, "leases could not be looked at"),
            }
        }
    }

    async fn give_up_all(&self, lease_over_at: Timestamp, cause: Interruption) -> Result<usize, EngineError> {
        let mut given_up = 0;
        loop {
            let page = match self.inner.store.expired(lease_over_at, PAGE).await {
                Ok(page) => page,
                Err(error) => {
                    self.store_failed(Access::Read, &error);
                    return Err(error.into());
                }
            };
            let full = page.len() == PAGE;
            let mut appends = JoinSet::new();
            for snapshot in page {
                let engine = self.clone();
                appends.spawn(async move { engine.give_up(snapshot, cause).await });
            }
            let mut moved = 0;
            while let Some(done) = appends.join_next().await {
                let appended = done.map_err(|fault| EngineError::Internal(fault.to_string()))??;
                moved += usize::from(appended);
            }
            given_up += moved;
            // A page that moved nothing would come again as it is.
            if !full || moved == 0 {
                return Ok(given_up);
            }
        }
    }

    async fn give_up(&self, snapshot: Snapshot, cause: Interruption) -> Result<bool, EngineError> {
        let Some(request) = snapshot.call.request().cloned() else { return Ok(false) };
        let policy = self.policy_of(&request.tool);
        let recover = Recover {
            at: self.inner.settings.clock.now(),
            attempt: snapshot.call.attempts(),
            cause,
            message: match cause == Interruption::OwnerGone {
                true => "the process that ran it is gone".into(),
                false => "its lease ran out".into(),
            },
            interrupted: policy.as_ref().map(|policy| policy.interrupted),
            max_attempts: policy.map_or(self.inner.settings.max_attempts, |policy| policy.max_attempts),
        };
        match self.execute(snapshot, &[Command::Recover(recover)]).await {
            Ok(executed) => {
                self.inner.settings.crash.pass("recover.after_append");
                if executed.appended && executed.snapshot.call.status() == Some(Status::Pending) {
                    self.offer(&executed.snapshot);
                }
                if executed.appended && matches!(executed.snapshot.call, Call::Held { .. }) {
                    tracing::warn!(call = %request.call_id, tool = %request.tool, "held: its outcome is unknown");
                }
                Ok(executed.appended)
            }
            // The attempt reported, or was given up, meanwhile.
            Err(EngineError::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

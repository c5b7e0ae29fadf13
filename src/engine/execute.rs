//! The loop: load → decide → append; on a conflict decide again from the call as it is now.

use super::clock::Stopwatch;
use super::observe::{Access, Happening};
use super::{Engine, EngineError};
use crate::domain::call::Call;
use crate::domain::command::Command;
use crate::domain::decide;
use crate::domain::event::Event;
use crate::domain::evolve::evolve_all;
use crate::store::{AppendError, Snapshot, Store, StoreError};

/// How often one command may lose its version before something is wrong: every loss means that somebody else's append
/// to the same call won, and a call has few events.
const MAX_CONFLICTS: usize = 64;

/// What a command did.
pub(super) struct Executed {
    /// The call after it.
    pub(super) snapshot: Snapshot,
    /// Whether it appended events; if not, the call as it is answered it.
    pub(super) appended: bool,
}

impl<S: Store> Engine<S> {
    /// Carries `commands` out, one after the other and all in one append, on the call that `known` shows, however old
    /// that view is. If one of them is refused, none is carried out.
    pub(super) async fn execute(
        &self,
        known: Snapshot,
        commands: &[Command],
    ) -> Result<Executed, EngineError> {
        let mut before = known;
        for _ in 0..MAX_CONFLICTS {
            let events = decide_all(&before.call, commands)?;
            if events.is_empty() {
                return Ok(Executed { snapshot: before, appended: false });
            }
            match self.append(&before, events).await {
                Ok(after) => return Ok(Executed { snapshot: after, appended: true }),
                Err(AppendError::Conflict(current)) => before = *current,
                Err(AppendError::Store(error)) => return Err(error.into()),
            }
        }
        Err(EngineError::Internal(format!(
            "the call moved on {MAX_CONFLICTS} times while a command was decided"
        )))
    }

    async fn append(&self, before: &Snapshot, events: Vec<Event>) -> Result<Snapshot, AppendError> {
        let watch = Stopwatch::start();
        let result = self.inner.store.append(before, events.clone()).await;
        match &result {
            Ok(after) => {
                // A report may have found room in the space that is kept for it, where there is none for anything new.
                if !events.first().is_some_and(Event::is_report) {
                    self.store_works(Access::Write);
                }
                if let Some(request) = after.call.request() {
                    let (call_id, events) = (request.call_id, events.as_slice());
                    self.inner.observer.observe(&Happening::Appended {
                        call_id,
                        events,
                        took: watch.elapsed(),
                    });
                    self.inner.waiters.publish(call_id, after);
                }
            }
            Err(AppendError::Conflict(_)) => self.store_works(Access::Write),
            Err(AppendError::Store(error)) => self.store_failed(Access::Write, error),
        }
        result
    }

    /// Notes that the store works, and says so if it did not before.
    pub(super) fn store_works(&self, access: Access) {
        if let Some(fault) = self.inner.health.store_works(access) {
            tracing::info!(%fault, "the store works again");
        }
    }

    /// Notes a fault of the store, and logs each kind once, not once a call.
    pub(super) fn store_failed(&self, access: Access, error: &StoreError) {
        let fault = error.to_string();
        self.inner.observer.observe(&Happening::StoreFailed { error: &fault });
        if self.inner.health.store_failed(access, &fault) {
            tracing::error!(%fault, "the store failed");
        }
    }
}

/// The events that `commands` lead to, each in the state that the one before it left.
fn decide_all(call: &Call, commands: &[Command]) -> Result<Vec<Event>, EngineError> {
    let [first, rest @ ..] = commands else { return Ok(vec![]) };
    let mut events = decide(call, first)?;
    for command in rest {
        let now = evolve_all(call, &events).map_err(StoreError::from)?;
        events.extend(decide(&now, command)?);
    }
    Ok(events)
}

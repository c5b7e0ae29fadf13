//! The engine's loop in single steps: decide on what was read, append at that version, or learn what is there now.

use callonce::domain::call::Call;
use callonce::domain::{Command, Event, decide, evolve};

use crate::guard::Guard;
use crate::law::Law;
use crate::setup::Setup;
use crate::world::{Seen, Stored, World};

/// What one turn of the loop came to.
#[derive(Debug)]
pub enum Turn {
    /// The rules said no.
    Refused,
    /// Nothing to append: the call as it was read answers.
    Answered,
    /// Appended to this call.
    Appended(usize),
    /// This call was in the way: as it was read it is not any more, or it has the key.
    Conflict(usize),
}

impl World {
    /// One turn for `command`, on the call `place` as `seen`; no place for a key that is taken to be free.
    pub fn turn(&mut self, setup: &Setup, place: Option<usize>, seen: &Seen, command: Command) -> Turn {
        let (call, command) = match setup.without {
            Some(guard) => guard.hide(seen.call.clone(), command),
            None => (seen.call.clone(), command),
        };
        match decide(&call, &command) {
            Err(_) => Turn::Refused,
            Ok(events) if events.is_empty() => Turn::Answered,
            Ok(events) => self.append(setup, place, seen.version, call, &events),
        }
    }

    fn append(
        &mut self,
        setup: &Setup,
        place: Option<usize>,
        version: u64,
        mut call: Call,
        events: &[Event],
    ) -> Turn {
        let place = match place {
            Some(place) if self.calls[place].now.version != version && !setup.lacks(Guard::Version) => {
                return Turn::Conflict(place);
            }
            Some(place) => place,
            None => match self.holder(events) {
                Some(holder) if !setup.lacks(Guard::KeyUnique) => return Turn::Conflict(holder),
                Some(_) | None => {
                    self.calls.push(Stored::absent());
                    self.calls.len() - 1
                }
            },
        };
        for event in events {
            match evolve(&call, event) {
                Ok(next) => call = next,
                Err(_) => {
                    self.broken = Some(Law::L7);
                    return Turn::Appended(place);
                }
            }
            self.calls[place].project(event);
        }
        self.calls[place].becomes(call, events.len() as u64);
        Turn::Appended(place)
    }

    /// The call that has the key of these events' first.
    fn holder(&self, events: &[Event]) -> Option<usize> {
        let Some(Event::Created { request }) = events.first() else { return None };
        self.calls
            .iter()
            .position(|stored| stored.now.call.request().is_some_and(|known| known.key == request.key))
    }
}

impl Stored {
    fn absent() -> Self {
        Self { now: Seen::ABSENT, lease_over: false, effect_rows: 0, claims: 0, final_as: None }
    }

    /// What an event adds to the tables beside the call's own row.
    fn project(&mut self, event: &Event) {
        match event {
            Event::Claimed { .. } => {
                self.claims += 1;
                self.lease_over = false;
            }
            Event::Succeeded { effect, .. } => self.effect_rows += u8::from(effect.is_some()),
            Event::Created { .. }
            | Event::Failed { .. }
            | Event::RetryReset { .. }
            | Event::Recover { .. } => {}
        }
    }

    fn becomes(&mut self, call: Call, versions: u64) {
        if call.is_final() && self.final_as.is_none() {
            self.final_as = Some(call.clone());
        }
        if !matches!(call, Call::Running { .. }) {
            self.lease_over = false;
        }
        self.now = Seen { version: self.now.version + versions, call };
    }
}

//! What should happen? The contract's table of states and commands, written down a second time over plain numbers and words.
//!
//! Nothing here asks `decide` or `evolve`. Instants are seconds of the test's day; what a tool answers is a number.

use crate::table::{Cell, State, cell};

/// How long a claim lasts, in seconds.
pub const LEASE: i64 = 30;

/// One wish, with everything that it brings along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A request arrives; `id` is the call's if the key is new.
    Submit { id: u64, variant: u8 },
    /// A worker wants to run it.
    Claim { worker: u8, side_effect: bool, max: u32 },
    /// An attempt says that it succeeded.
    Succeed { attempt: u32, result: u8, effect: Option<Option<i64>> },
    /// An attempt says that it failed.
    Fail { attempt: u32, code: &'static str, retryable: bool, max: u32 },
    /// A running attempt is to be given up.
    Recover { attempt: u32, cause: &'static str, treated: Treated, max: u32 },
    /// It happened.
    Happened { result: u8, effect: Option<Option<i64>> },
    /// It did not happen.
    NotHappened { max: u32 },
    /// Nobody will try again.
    Abandon,
    /// The server puts a failed call off for so many seconds; the log may hold this, though no command asks for it yet.
    PutOff { seconds: i64 },
}

/// How a tool's interrupted attempts are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treated {
    Replay,
    Probe,
    Hold,
    NotConfigured,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// These events.
    Events(Vec<&'static str>),
    /// The call as it is answers it.
    Nothing,
    /// A refusal, with the number that it names.
    Refused(&'static str, i64),
}

/// A call as its clients and its tables show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub state: State,
    pub id: u64,
    pub variant: u8,
    pub version: u64,
    pub attempt: u32,
    /// Whether an attempt may still report, and whether it owes an effect.
    pub open: Option<bool>,
    pub owner: Option<u8>,
    pub lease_until: Option<i64>,
    pub held: Option<(i64, &'static str)>,
    pub due: Option<i64>,
    pub result: Option<u8>,
    pub effect: Option<Option<i64>>,
    pub error: Option<Error>,
    pub created: i64,
    pub updated: i64,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: &'static str,
    pub cause: Option<&'static str>,
    pub retryable: bool,
}

impl Row {
    /// The word that clients see.
    pub fn status(&self) -> &'static str {
        match (self.state, &self.error) {
            (State::Absent, _) => "",
            (State::Pending, _) => "pending",
            (State::Running | State::Held, _) => "running",
            (State::FailedRetryable, _) | (State::Final, Some(_)) => "failed",
            (State::Final, None) => "succeeded",
        }
    }

    /// Of a key that nobody took.
    pub fn absent() -> Self {
        Self {
            state: State::Absent,
            id: 0,
            variant: 0,
            version: 0,
            attempt: 0,
            open: None,
            owner: None,
            lease_until: None,
            held: None,
            due: None,
            result: None,
            effect: None,
            error: None,
            created: 0,
            updated: 0,
        }
    }

    /// Leaves the state it was in, and all that only that state has.
    fn becomes(&mut self, state: State) {
        let kept = (self.id, self.variant, self.version, self.attempt, self.created, self.updated);
        *self = Self::absent();
        (self.id, self.variant, self.version, self.attempt, self.created, self.updated) = kept;
        self.state = state;
    }

    fn fails(&mut self, code: &'static str, retryable: bool, max: u32) {
        let exhausted = retryable && self.attempt >= max;
        let state = if retryable && !exhausted { State::FailedRetryable } else { State::Final };
        self.becomes(state);
        self.error = Some(match exhausted {
            true => Error { code: "retry_exhausted", cause: Some(code), retryable: false },
            false => Error { code, cause: None, retryable },
        });
    }

    fn succeeds(&mut self, result: u8, effect: Option<Option<i64>>) {
        self.becomes(State::Final);
        (self.result, self.effect) = (Some(result), effect);
    }

    /// What `ask` leads to at `now`, and does it.
    pub fn does(&mut self, ask: &Ask, now: i64) -> Outcome {
        let outcome = self.decides(ask, now);
        if let Outcome::Events(events) = &outcome {
            self.version += events.len() as u64;
            self.updated = now;
        }
        outcome
    }

    fn decides(&mut self, ask: &Ask, now: i64) -> Outcome {
        let same = matches!(ask, Ask::Submit { variant, .. } if *variant == self.variant);
        match (cell(self.state, ask, same), ask) {
            (Cell::Nothing, _) => Outcome::Nothing,
            (Cell::Conflict, _) => Outcome::Refused("idempotency_conflict", 0),
            (Cell::NotFound, _) => Outcome::Refused("not_found", 0),
            (Cell::Leased, _) => Outcome::Refused("leased", self.lease_until.unwrap_or(0)),
            (Cell::Held, _) => Outcome::Refused("held", 0),
            (Cell::NotPending, _) => Outcome::Refused("not_pending", 0),
            (Cell::NotHeld, _) => Outcome::Refused("not_held", 0),
            (Cell::Final, _) => Outcome::Refused("final", 0),
            (Cell::Stale, _) => self.stale(),
            (Cell::Create, Ask::Submit { id, variant }) => {
                self.becomes(State::Pending);
                (self.id, self.variant, self.created) = (*id, *variant, now);
                Outcome::Events(vec!["created"])
            }
            (Cell::Reset, Ask::PutOff { seconds }) => {
                self.becomes(State::Pending);
                self.due = Some(now + seconds);
                Outcome::Events(vec!["retry_reset"])
            }
            (Cell::Reset, _) => {
                self.becomes(State::Pending);
                Outcome::Events(vec!["retry_reset"])
            }
            (Cell::Claim, Ask::Claim { worker, side_effect, max }) => {
                self.claimed(*worker, *side_effect, *max, now)
            }
            (Cell::Report, Ask::Succeed { attempt, result, effect }) => match self.open {
                Some(owed) if *attempt == self.attempt => self.happened(owed, *result, *effect),
                _ => self.stale(),
            },
            (Cell::Report, Ask::Fail { attempt, code, retryable, max }) => match self.open {
                Some(_) if *attempt == self.attempt => {
                    self.fails(code, *retryable, *max);
                    Outcome::Events(vec!["failed"])
                }
                _ => self.stale(),
            },
            (Cell::SameOrStale, _) => match self.is_done_by(ask) {
                true => Outcome::Nothing,
                false => self.stale(),
            },
            (Cell::Recover, Ask::Recover { attempt, cause, treated, max }) => {
                self.recovered(*attempt, cause, *treated, *max, now)
            }
            (Cell::Settle, Ask::Happened { result, effect }) => {
                self.happened(self.open == Some(true), *result, *effect)
            }
            (Cell::Settle, Ask::NotHappened { max }) if self.attempt < *max => {
                self.becomes(State::Pending);
                Outcome::Events(vec!["retry_reset"])
            }
            (Cell::Settle, Ask::NotHappened { max }) => {
                self.fails("not_happened", true, *max);
                Outcome::Events(vec!["failed"])
            }
            (Cell::Settle, _) => {
                self.fails("abandoned", false, 0);
                Outcome::Events(vec!["failed"])
            }
            (cell, ask) => panic!("the table sends {ask:?} to {cell:?}"),
        }
    }

    fn stale(&self) -> Outcome {
        Outcome::Refused("stale", self.attempt.into())
    }

    fn happened(&mut self, owed: bool, result: u8, effect: Option<Option<i64>>) -> Outcome {
        if owed != effect.is_some() {
            return Outcome::Refused("effect_mismatch", owed.into());
        }
        self.succeeds(result, effect);
        Outcome::Events(vec!["succeeded"])
    }

    fn claimed(&mut self, worker: u8, side_effect: bool, max: u32, now: i64) -> Outcome {
        if let Some(due) = self.due.filter(|due| *due > now) {
            return Outcome::Refused("not_due", due);
        }
        if self.attempt >= max {
            self.fails("interrupted", true, max);
            return Outcome::Events(vec!["failed"]);
        }
        self.becomes(State::Running);
        self.attempt += 1;
        (self.open, self.owner, self.lease_until) = (Some(side_effect), Some(worker), Some(now + LEASE));
        Outcome::Events(vec!["claimed"])
    }

    /// The same completion again, after the end.
    fn is_done_by(&self, ask: &Ask) -> bool {
        match ask {
            Ask::Succeed { attempt, result, effect } => {
                self.error.is_none()
                    && (self.attempt, self.result, self.effect) == (*attempt, Some(*result), *effect)
            }
            Ask::Fail { attempt, code, retryable, max } => {
                let mut again = Self { attempt: *attempt, ..Self::absent() };
                again.fails(code, *retryable, *max);
                (self.attempt, &self.error) == (*attempt, &again.error)
            }
            Ask::Submit { .. }
            | Ask::Claim { .. }
            | Ask::Recover { .. }
            | Ask::Happened { .. }
            | Ask::NotHappened { .. }
            | Ask::Abandon
            | Ask::PutOff { .. } => false,
        }
    }

    fn recovered(
        &mut self,
        attempt: u32,
        cause: &'static str,
        treated: Treated,
        max: u32,
        now: i64,
    ) -> Outcome {
        if attempt != self.attempt {
            return self.stale();
        }
        if let Some(until) = self.lease_until.filter(|until| cause == "lease_over" && *until > now) {
            return Outcome::Refused("leased", until);
        }
        let owed = self.open;
        let lost_sight = matches!(cause, "lease_over" | "owner_gone");
        match treated {
            Treated::Replay if lost_sight && self.attempt < max => {
                self.becomes(State::Pending);
                self.open = owed;
                Outcome::Events(vec!["recover"])
            }
            Treated::Replay => {
                self.fails(cause, true, max);
                Outcome::Events(if lost_sight { vec!["recover", "failed"] } else { vec!["failed"] })
            }
            Treated::Probe | Treated::Hold | Treated::NotConfigured => {
                self.becomes(State::Held);
                (self.open, self.held) = (owed, Some((now, cause)));
                Outcome::Events(vec!["recover"])
            }
        }
    }
}

/// All calls, in the order in which their keys were taken: the key of call `n` is `key-n`.
#[derive(Debug, Clone)]
pub struct Reference {
    rows: Vec<Row>,
    absent: Row,
    pub now: i64,
    /// Ids that were drawn, also for requests whose key was known.
    pub ids: u64,
    /// Events so far.
    pub position: u64,
    /// What was asked in the last step, of whom and when, and what came of it.
    pub steps: Vec<(usize, Ask, i64, Outcome)>,
}

impl Reference {
    /// Nothing has happened.
    pub fn new() -> Self {
        Self { rows: vec![], absent: Row::absent(), now: 0, ids: 0, position: 0, steps: vec![] }
    }

    /// All calls that there are.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The call with this number, absent if there is none.
    pub fn row(&self, call: usize) -> &Row {
        self.rows.get(call).unwrap_or(&self.absent)
    }

    /// Carries one wish out, and notes it as part of the current step.
    pub fn ask(&mut self, call: usize, ask: Ask) {
        let mut row = self.row(call).clone();
        let outcome = row.does(&ask, self.now);
        if let Outcome::Events(events) = &outcome {
            self.position += events.len() as u64;
            match self.rows.get_mut(call) {
                Some(known) => *known = row,
                None => self.rows.push(row),
            }
        }
        self.steps.push((call, ask, self.now, outcome));
    }
}

//! Decides: `Command × Call → Events` and `Event × Call → Call`. No I/O, no clock, no async.
//!
//! Read in this order: [`call`] (what a call can be), [`command`] (what can be asked), [`event`] (what can have
//! happened), [`mod@decide`] (the rules), [`mod@evolve`] (the fold). Everything else serves these five.
//!
//! Time, identity and policy are arguments: a command carries the instant it is decided at, the ids were drawn
//! outside, and an event carries all that [`mod@evolve`] needs. So the log alone gives the state back, on any machine,
//! at any time, whatever is configured there.

pub mod backoff;
pub mod call;
pub mod command;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod fingerprint;
pub mod id;
pub mod json;
pub mod law;
pub mod policy;
pub mod refusal;
pub mod retry_after;
pub mod time;

pub use call::{Attempt, Call, Effect, Failure, Request, Status};
pub use command::Command;
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use refusal::Refusal;

//! The careful client: makes a call happen once, however often it has to be sent.
//!
//! [`Client::submit`] sends an [`Intent`] under its one key until it is answered, as [`Retry`] says, and looks the key up
//! before it says that the outcome is unknown. [`Client::follow`] then waits until the call settles. Time, chance and
//! somebody to tell are handed in ([`Surroundings`]), and every [`Try`] is told as a value.

mod address;
mod follow;
mod intent;
mod retry;
mod seen;
mod submit;
mod surroundings;
mod transport;

pub use self::address::shown as shown_address;
pub use self::follow::LostSight;
pub use self::intent::{Intent, by_key};
pub use self::retry::{Retry, Trouble};
pub use self::seen::{Disbelief, Problem, Seen, object};
pub use self::submit::{FailedTry, GaveUp, Lookup, Submitted};
pub use self::surroundings::{Surroundings, Try};
pub use self::transport::{Answer, Ask, Client, ClientError};
pub use crate::domain::retry_after::retry_after;

//! The only file that draws randomness: identity for calls and processes.
#![expect(clippy::disallowed_methods, reason = "this is the one place that draws identity and chance")]

use uuid::Uuid;

use crate::domain::id::{CallId, IdemKey, Owner};

/// A new call id. Ids grow with time (UUID version 7), so new rows land next to each other on disk.
pub fn call_id() -> CallId {
    CallId::from_uuid(Uuid::now_v7())
}

/// Who this process is: its pid, and a random id because pids come back.
pub fn owner() -> Owner {
    let boot = Uuid::new_v4().simple().to_string();
    Owner::parse(&format!("{}:{}", std::process::id(), &boot[..12]))
        .expect("a pid and hex digits are a valid owner")
}

/// A key for a call whose client has none of its own.
pub fn key() -> IdemKey {
    IdemKey::parse(&Uuid::new_v4().to_string()).expect("a UUID is a valid key")
}

/// One of so many places in a row, each as likely as the others; `below` is at least 1.
pub fn place(below: usize) -> usize {
    // The two top bits of this half say which kind of UUID it is; the others are random.
    let random = Uuid::new_v4().as_u64_pair().1 << 2;
    let scaled = (u128::from(random) * below as u128) >> 64;
    usize::try_from(scaled).expect("it is below a usize")
}

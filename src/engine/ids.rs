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

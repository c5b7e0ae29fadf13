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

/// A number in `[0, 1)`, for pauses that must not be the same for everybody.
pub fn chance() -> f64 {
    // As many of a UUID's random low bits as a double holds exactly.
    const BITS: u32 = f64::MANTISSA_DIGITS;
    let random = Uuid::new_v4().as_u128() & ((1 << BITS) - 1);
    random as f64 / (1u64 << BITS) as f64
}

/// Where a random sequence begins that somebody may want to draw again: short enough to be typed.
pub fn seed() -> u64 {
    // The low bits of a version 4 UUID are all random.
    Uuid::new_v4().as_u128() as u64 & u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_spread_over_its_whole_range() {
        let drawn: Vec<_> = (0..10_000).map(|_| chance()).collect();
        assert!(drawn.iter().all(|chance| (0.0..1.0).contains(chance)));
        let tenths: std::collections::HashSet<_> = drawn.iter().map(|chance| (chance * 10.0) as u8).collect();
        assert_eq!(tenths.len(), 10);
    }
}

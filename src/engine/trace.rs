//! Which distributed trace an attempt belongs to: what the client said, or one that follows from the call's own id.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::domain::id::CallId;

/// How many calls' traces are remembered: more than can wait in memory. Those beyond it get a trace of their own.
const MOST: usize = 16_384;

/// The `traceparent` of W3C Trace Context, version 00: trace id, parent id and flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent(String);

impl TraceParent {
    /// Reads a header's value; nothing if it is not one, because the standard has a bad one ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split('-').collect();
        let is_hex = |part: &str, digits: usize| {
            part.len() == digits && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let means_something = |id: &str| id.bytes().any(|byte| byte != b'0');
        match parts[..] {
            ["00", trace, parent, flags]
                if is_hex(trace, 32)
                    && is_hex(parent, 16)
                    && is_hex(flags, 2)
                    && means_something(trace)
                    && means_something(parent) =>
            {
                Some(Self(text.into()))
            }
            _ => None,
        }
    }

    /// The trace of a call whose client named none: one for all its attempts, which are its spans.
    pub fn of(call: CallId, attempt: u32) -> Self {
        let trace = u128::from_be_bytes(*call.as_bytes());
        Self(format!("00-{trace:032x}-{attempt:016x}-00"))
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The traces that clients named. They are not part of any call, so a restart forgets them.
#[derive(Default)]
pub(super) struct Traces(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    by_call: HashMap<CallId, TraceParent>,
    oldest_first: VecDeque<CallId>,
}

impl Traces {
    pub(super) fn remember(&self, call: CallId, trace: TraceParent) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.by_call.insert(call, trace).is_none() {
            remembered.oldest_first.push_back(call);
        }
        if remembered.oldest_first.len() > MOST
            && let Some(oldest) = remembered.oldest_first.pop_front()
        {
            remembered.by_call.remove(&oldest);
        }
    }

    /// The trace of an attempt.
    pub(super) fn of(&self, call: CallId, attempt: u32) -> TraceParent {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.by_call.get(&call).cloned().unwrap_or_else(|| TraceParent::of(call, attempt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u8) -> CallId {
        CallId::from_bytes([number; 16])
    }

    #[test]
    fn only_what_the_standard_calls_one_is_passed_on() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(TraceParent::parse(good).map(|trace| trace.to_string()).as_deref(), Some(good));
        for bad in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_call_without_one_has_one_of_its_own_that_is_well_formed() {
        let own = TraceParent::of(call(1), 3);
        assert_eq!(own.to_string(), "00-01010101010101010101010101010101-0000000000000003-00");
        assert_eq!(TraceParent::parse(&own.to_string()), Some(own));
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let traces = Traces::default();
        let named = TraceParent::of(call(9), 9);
        for number in 0..=MOST {
            let id = CallId::from_bytes((number as u128).to_be_bytes());
            traces.remember(id, named.clone());
        }
        assert_eq!(traces.of(CallId::from_bytes((MOST as u128).to_be_bytes()), 1), named);
        let first = CallId::from_bytes(0_u128.to_be_bytes());
        assert_eq!(traces.of(first, 1), TraceParent::of(first, 1));
    }
}

//! The step of an exchange that a connection is in, and how long its client may take over it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::http::limits::Limits;

/// Whose turn it is, and at what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Phase {
    /// The client may send a request, or not.
    Idle,
    /// The client has sent a part of a request's head.
    Head,
    /// A handler has the request. It bounds its own time, and that of the body.
    Serving,
    /// The answer is there; the client takes it, or not.
    Sending,
    /// The answer is out and the server will not read another request; the client may still be writing.
    Closing,
}

impl Phase {
    const ALL: [Self; 5] = [Self::Idle, Self::Head, Self::Serving, Self::Sending, Self::Closing];

    /// How long the client has for it; none where the server is at work.
    pub(super) fn budget(self, limits: &Limits) -> Option<Duration> {
        match self {
            Self::Idle => Some(limits.idle_timeout),
            Self::Head => Some(limits.header_timeout),
            Self::Serving => None,
            Self::Sending => Some(limits.write_timeout),
            Self::Closing => Some(limits.linger_timeout),
        }
    }
}

/// What the parts of one connection tell each other: its socket and its service report, its task sets the timer.
/// All of them run in one task, so the atomics are for the type system and order nothing.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The phase in the low bits, above it the number of changes so far.
    step: AtomicU32,
    body_is_owed: AtomicBool,
    stopping: AtomicBool,
}

const PHASE_BITS: u32 = 3;

impl Progress {
    /// The present phase, and a number that differs from the one before it: a whole exchange can pass between two
    /// looks, and then the second `Idle` is not the first.
    pub(super) fn step(&self) -> (Phase, u32) {
        let step = self.step.load(Ordering::Relaxed);
        (Phase::ALL[(step & ((1 << PHASE_BITS) - 1)) as usize], step >> PHASE_BITS)
    }

    fn phase(&self) -> Phase {
        self.step().0
    }

    fn enter(&self, phase: Phase) {
        let (_, number) = self.step();
        self.step.store((number.wrapping_add(1) << PHASE_BITS) | phase as u32, Ordering::Relaxed);
    }

    /// Bytes came in.
    pub(super) fn received(&self) {
        if self.phase() == Phase::Idle {
            self.enter(Phase::Head);
        }
    }

    /// A request's head is whole. `with_body`: there is more of it than the head.
    pub(super) fn requested(&self, with_body: bool) {
        self.body_is_owed.store(with_body, Ordering::Relaxed);
        self.enter(Phase::Serving);
    }

    /// The body's end was seen.
    pub(super) fn settled_body(&self) {
        self.body_is_owed.store(false, Ordering::Relaxed);
    }

    /// The handler has answered. True if that is the last answer on this connection.
    pub(super) fn answered(&self) -> bool {
        self.enter(Phase::Sending);
        self.stopping.load(Ordering::Relaxed)
    }

    /// Bytes went out. From an idle connection they are the next piece of an answer that is made while it is sent.
    pub(super) fn sent(&self) {
        if self.phase() == Phase::Idle {
            self.enter(Phase::Sending);
        }
    }

    /// All that there was to send is out.
    pub(super) fn flushed(&self) {
        if self.phase() == Phase::Sending {
            self.enter(Phase::Idle);
        }
    }

    /// No request is wanted after the present one. Returns where this finds the connection; an idle one has no body to
    /// wait for, whatever became of its last.
    pub(super) fn stop(&self) -> Phase {
        self.stopping.store(true, Ordering::Relaxed);
        let phase = self.phase();
        if phase == Phase::Idle {
            self.settled_body();
        }
        phase
    }

    /// The answers are out and no more will follow. True if the client may still be writing, so that its input has to
    /// be read for a while: the rest of a body nobody read, or of a head that was refused half way.
    pub(super) fn closing(&self) -> bool {
        let unread = self.phase() == Phase::Head || self.body_is_owed.load(Ordering::Relaxed);
        self.enter(Phase::Closing);
        unread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_goes_once_round() {
        let progress = Progress::default();
        let after = |report: fn(&Progress)| {
            report(&progress);
            progress.phase()
        };
        assert_eq!(after(|_| ()), Phase::Idle);
        assert_eq!(after(Progress::received), Phase::Head);
        assert_eq!(after(Progress::received), Phase::Head);
        assert_eq!(after(|progress| progress.requested(false)), Phase::Serving);
        assert_eq!(after(|progress| assert!(!progress.answered())), Phase::Sending);
        assert_eq!(after(Progress::sent), Phase::Sending);
        assert_eq!(after(Progress::flushed), Phase::Idle);
    }

    #[test]
    fn two_idle_times_are_two() {
        let progress = Progress::default();
        let before = progress.step();
        progress.received();
        progress.requested(true);
        progress.answered();
        progress.flushed();
        let after = progress.step();
        assert_eq!((before.0, after.0), (Phase::Idle, Phase::Idle));
        assert_ne!(before, after);
    }

    #[test]
    fn input_is_read_on_only_after_a_head_or_a_body_was_cut_short() {
        let progress = Progress::default();
        assert!(!progress.closing(), "idle");
        let progress = Progress::default();
        progress.received();
        assert!(progress.closing(), "in the head");
        for (with_body, settled, expected) in
            [(false, false, false), (true, true, false), (true, false, true)]
        {
            let progress = Progress::default();
            progress.requested(with_body);
            if settled {
                progress.settled_body();
            }
            progress.answered();
            progress.flushed();
            assert_eq!(progress.closing(), expected, "{with_body} {settled}");
        }
    }
}

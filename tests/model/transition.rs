//! What can happen next? Wishes that mean something whatever came before, so that a shorter sequence still means something.

use proptest::prelude::*;

use crate::reference::{Ask, Reference, Treated};

/// One step of a sequence.
#[derive(Debug, Clone)]
pub struct Transition {
    /// How many seconds the clock jumps first, either way.
    pub clock: i64,
    /// Of which call it is asked.
    pub whose: Whose,
    /// What is asked.
    pub wish: Wish,
    /// How old the view of the call is that it is decided on first.
    pub view: View,
    /// What becomes of the process.
    pub fate: Fate,
}

/// Which call.
#[derive(Debug, Clone, Copy)]
pub enum Whose {
    /// The one whose key was taken so many keys ago.
    Recent(u8),
    /// Any, by its number.
    Any(u8),
    /// None yet.
    New,
}

/// What is asked; attempts are told by how far they are from the current one.
#[derive(Debug, Clone, Copy)]
pub enum Wish {
    SubmitSame,
    SubmitOther(u8),
    Claim { worker: u8, side_effect: bool, max: u32 },
    Succeed { off: Off, result: u8, effect: Effect },
    Fail { off: Off, code: &'static str, retryable: bool, max: u32 },
    Recover { off: Off, cause: &'static str, treated: Treated, max: u32 },
    Happened { result: u8, effect: Effect },
    NotHappened { max: u32 },
    Abandon,
    PutOff { seconds: i64 },
}

/// The attempt that reports.
#[derive(Debug, Clone, Copy)]
pub enum Off {
    Current,
    Older(u32),
    Newer,
}

/// The effect that a success brings along.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    AsOwed(Option<i64>),
    /// One if none is owed, none if one is.
    Wrong,
}

/// What a command is decided on first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The call as it is.
    Fresh,
    /// The call as somebody saw it some steps ago, so that the append meets a conflict.
    Old,
}

/// What becomes of the process with this step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Lives,
    /// The store is closed in order, and opened again.
    Closes,
    /// The store is dropped while this step's append, and those of so many new calls, are queued.
    Drops(u8),
    /// It is killed after the answer: what is on disk, with its log of writes, is all that the next process finds.
    Killed,
}

const MAX: [u32; 8] = [3, 3, 3, 3, 3, 5, 2, 1];
const CAUSES: [&str; 5] = ["lease_over", "owner_gone", "timeout", "panicked", "outcome_unknown"];
const TREATED: [Treated; 4] = [Treated::Replay, Treated::Hold, Treated::Probe, Treated::NotConfigured];
const CLOCK: [i64; 8] = [0, 0, 1, 1, 5, 31, -1, -40];

/// Any step. The numbers are small so that they shrink to the plainest step that still fails.
pub fn any_transition() -> BoxedStrategy<Transition> {
    ((0u8..64, 0u8..16, 0u8..8, 0u8..8), (0u8..8, 0u8..8, 0u8..8, 0u8..128)).prop_map(made).boxed()
}

/// Four dice.
type Dice = (u8, u8, u8, u8);

fn made(((wish, whose, clock, off), (a, b, view, fate)): (Dice, Dice)) -> Transition {
    let at = |index: u8| usize::from(index);
    let off = match off {
        0..5 => Off::Current,
        5 => Off::Older(1),
        6 => Off::Older(2),
        _ => Off::Newer,
    };
    let effect = match b {
        0..4 => Effect::AsOwed(Some(i64::from(b) - 1)),
        4..6 => Effect::AsOwed(None),
        _ => Effect::Wrong,
    };
    let (max, result) = (MAX[at(a)], a % 3);
    let whose = match whose {
        0..13 => Whose::Recent(whose % 3),
        13 | 14 => Whose::Any(a * 8 + b),
        _ => Whose::New,
    };
    let mut transition = Transition {
        clock: CLOCK[at(clock)],
        whose,
        wish: Wish::SubmitSame,
        view: View::Fresh,
        fate: Fate::Lives,
    };
    transition.wish = match wish {
        0..4 => {
            transition.whose = Whose::New;
            Wish::SubmitOther(a % 3)
        }
        4..9 => Wish::SubmitSame,
        9..12 => Wish::SubmitOther(a % 3),
        12..27 => Wish::Claim { worker: b % 3, side_effect: b < 5, max },
        27..34 => Wish::Succeed { off, result, effect },
        34..42 => Wish::Fail { off, code: ["busy", "declined"][at(b % 2)], retryable: b < 6, max },
        42..54 => Wish::Recover { off, cause: CAUSES[at(b % 5)], treated: TREATED[at((a + b) % 4)], max },
        54..57 => Wish::Happened { result, effect },
        57..60 => Wish::NotHappened { max },
        60 => Wish::Abandon,
        _ => Wish::PutOff { seconds: i64::from(a) },
    };
    if view == 7 {
        transition.view = View::Old;
    }
    transition.fate = match fate {
        127 => Fate::Killed,
        126 => Fate::Drops(a % 4),
        125 => Fate::Closes,
        _ => Fate::Lives,
    };
    transition
}

impl Transition {
    /// Carries it out on the reference.
    pub fn happens(&self, reference: &mut Reference) {
        reference.now += self.clock;
        reference.steps.clear();
        let calls = reference.rows().len();
        let call = match self.whose {
            Whose::Recent(back) => calls.saturating_sub(1 + usize::from(back)),
            Whose::Any(n) => usize::from(n) % calls.max(1),
            Whose::New => calls,
        };
        let ask = self.ask(call, reference);
        reference.ask(call, ask);
        if let Fate::Drops(more) = self.fate {
            for _ in 0..more {
                reference.ids += 1;
                let submit = Ask::Submit { id: reference.ids, variant: 0 };
                reference.ask(reference.rows().len(), submit);
            }
        }
    }

    fn ask(&self, call: usize, reference: &mut Reference) -> Ask {
        let (attempt, open, variant) = {
            let row = reference.row(call);
            (row.attempt, row.open, row.variant)
        };
        let attempt = |off| match off {
            Off::Current => attempt,
            Off::Older(by) => attempt.saturating_sub(by),
            Off::Newer => attempt + 1,
        };
        let effect = |effect| match (effect, open.unwrap_or(true)) {
            (Effect::AsOwed(amount), true) => Some(amount),
            (Effect::AsOwed(_), false) | (Effect::Wrong, true) => None,
            (Effect::Wrong, false) => Some(None),
        };
        let mut id = || {
            reference.ids += 1;
            reference.ids
        };
        match self.wish {
            Wish::SubmitSame => Ask::Submit { id: id(), variant },
            Wish::SubmitOther(variant) => Ask::Submit { id: id(), variant },
            Wish::Claim { worker, side_effect, max } => Ask::Claim { worker, side_effect, max },
            Wish::Succeed { off, result, effect: brings } => {
                Ask::Succeed { attempt: attempt(off), result, effect: effect(brings) }
            }
            Wish::Fail { off, code, retryable, max } => {
                Ask::Fail { attempt: attempt(off), code, retryable, max }
            }
            Wish::Recover { off, cause, treated, max } => {
                Ask::Recover { attempt: attempt(off), cause, treated, max }
            }
            Wish::Happened { result, effect: brings } => Ask::Happened { result, effect: effect(brings) },
            Wish::NotHappened { max } => Ask::NotHappened { max },
            Wish::Abandon => Ask::Abandon,
            Wish::PutOff { seconds } => Ask::PutOff { seconds },
        }
    }
}

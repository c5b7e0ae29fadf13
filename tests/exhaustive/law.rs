//! The laws, as a state of the world shows them.

use callonce::domain::call::Call;
use stateright::Property;

use crate::step::Step;
use crate::system::System;
use crate::world::{Worker, World};

/// The laws that a model of the rules can show. L6 (what was acknowledged is durable) is the store's to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Law {
    L1,
    L2,
    L3,
    L4,
    L5,
    L7,
    L8,
}

impl Law {
    pub const ALL: [Self; 7] = [Self::L1, Self::L2, Self::L3, Self::L4, Self::L5, Self::L7, Self::L8];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::L1 => "L1 one call per key",
            Self::L2 => "L2 one effect per call",
            Self::L3 => "L3 one runner",
            Self::L4 => "L4 final is final",
            Self::L5 => "L5 same key, same request",
            Self::L7 => "L7 the log is the truth",
            Self::L8 => "L8 everything ends",
        }
    }

    /// Whether it holds here.
    pub fn holds(self, system: &System, world: &World) -> bool {
        self.fault(system, world).is_none()
    }

    /// What a step did that breaks it, where the state after it does not show that.
    const fn broken_by_a_step(self) -> &'static str {
        match self {
            Self::L1 => "a client was told of another call than before",
            Self::L3 => "an attempt that is not the current one has finished the call",
            Self::L5 => "a request was answered with the call of another request",
            Self::L7 => "the rules decided on an event that cannot have happened",
            Self::L8 => "a step leads back to where the world has been",
            Self::L2 | Self::L4 => "a step broke it",
        }
    }

    /// What breaks it here.
    pub fn fault(self, system: &System, world: &World) -> Option<String> {
        if world.broken == Some(self) {
            return Some(self.broken_by_a_step().into());
        }
        match self {
            Self::L1 => one_call_per_key(world),
            Self::L2 => one_effect(world),
            Self::L3 => one_runner(world),
            Self::L4 => final_is_final(world),
            Self::L8 => everything_ends(system, world),
            // A step breaks these, or nothing does.
            Self::L5 | Self::L7 => None,
        }
    }
}

fn one_call_per_key(world: &World) -> Option<String> {
    let keys: Vec<_> = (0..world.calls.len()).map(|call| world.ledger_of(call)).collect();
    let twice = keys.iter().enumerate().find(|(at, key)| keys[..*at].contains(key));
    twice.map(|(_, key)| format!("the key k{} leads to two calls", key + 1))
}

fn one_effect(world: &World) -> Option<String> {
    if let Some(key) = world.ledger.iter().position(|times| *times > 1) {
        return Some(format!("the effect of k{} has happened {} times", key + 1, world.ledger[key]));
    }
    world.calls.iter().enumerate().find_map(|(call, stored)| {
        let succeeded = matches!(stored.now.call, Call::Succeeded { .. });
        if stored.effect_rows != u8::from(succeeded) {
            return Some(format!(
                "call {} is {} and has {} rows in effects",
                call + 1,
                stored.now.call.state_name(),
                stored.effect_rows
            ));
        }
        (succeeded && world.ledger[world.ledger_of(call)] == 0)
            .then(|| format!("call {} succeeded, but nothing has happened", call + 1))
    })
}

fn one_runner(world: &World) -> Option<String> {
    (0..world.calls.len()).find_map(|call| {
        let with_lease = |worker: &&Worker| {
            worker.within_lease() && worker.attempt().is_some_and(|(running, _)| running == call)
        };
        let runners = world.workers.iter().filter(with_lease).count();
        let stored = &world.calls[call];
        if runners > 1 {
            return Some(format!("{runners} workers run call {} within their lease", call + 1));
        }
        (stored.claims != stored.now.call.attempts()).then(|| {
            let counted = stored.now.call.attempts();
            format!("call {} was claimed {} times and counts {counted} attempts", call + 1, stored.claims)
        })
    })
}

fn final_is_final(world: &World) -> Option<String> {
    let changed =
        |stored: &crate::world::Stored| stored.final_as.as_ref().is_some_and(|was| *was != stored.now.call);
    world.calls.iter().position(changed).map(|call| format!("call {} was final and has changed", call + 1))
}

/// Where nothing more happens by itself, every call is final, failed or held. That it comes to this, whatever happens in
/// whatever order, follows from [`crate::rank`]: no step can be repeated for ever.
fn everything_ends(system: &System, world: &World) -> Option<String> {
    let unsettled = world.calls.iter().position(|stored| match stored.now.call {
        Call::Absent | Call::Pending { .. } | Call::Running { .. } => true,
        Call::Held { .. } | Call::Succeeded { .. } | Call::Failed { .. } => false,
    })?;
    if world.broken.is_some() {
        return None;
    }
    let mut steps = vec![];
    system.steps(world, &mut steps);
    let stuck = steps.iter().all(|step: &Step| step.is_fault(world));
    let state = world.calls[unsettled].now.call.state_name();
    stuck.then(|| format!("call {} stays {state} for ever", unsettled + 1))
}

macro_rules! always {
    ($($law:ident)+) => {
        vec![$(Property::always(Law::$law.as_str(), |system, world| Law::$law.holds(system, world))),+]
    };
}

/// Each law, to hold in every state.
pub fn laws() -> Vec<Property<System>> {
    always![L1 L2 L3 L4 L5 L7 L8]
}

/// All of them as one, so that a search ends at the very first state that breaks one.
pub fn any_law() -> Vec<Property<System>> {
    vec![Property::always("every law", |system, world| {
        Law::ALL.into_iter().all(|law| law.holds(system, world))
    })]
}

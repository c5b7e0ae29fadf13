//! The downstream: where the effect really happens, beyond our transaction. Requests to it can be slow, lost, or heard by
//! nobody.

use callonce::domain::call::Call;
use callonce::domain::id::{CallId, EffectId};

use super::{Step, worker};
use crate::guard::Guard;
use crate::setup::Downstream;
use crate::system::System;
use crate::world::{Report, Sent, Worker, World};

pub fn offer(system: &System, world: &World, steps: &mut Vec<Step>) {
    for (sent, request) in world.under_way.iter().enumerate() {
        steps.extend([Step::Arrive { sent }, Step::Drop { sent }]);
        if system.setup.declines && !world.known.contains(&request.effect_id) {
            steps.push(Step::Decline { sent });
        }
    }
    if system.setup.downstream == Downstream::Forgets && !world.known.is_empty() {
        steps.push(Step::Forget);
    }
}

pub fn ask(system: &System, world: &mut World, worker: usize) {
    let Worker::Running { call, claimed, asked, .. } = &mut world.workers[worker] else { return };
    *asked = true;
    let sent =
        Sent { call: *call, attempt: claimed.call.attempts(), effect_id: effect_id(system, &claimed.call) };
    world.under_way.push(sent);
    // Nothing keeps requests in order, so their order is no part of the state.
    world.under_way.sort_unstable();
}

/// What the worker hands over as its idempotency key.
fn effect_id(system: &System, claimed: &Call) -> EffectId {
    let call_id = claimed.request().expect("it was claimed").call_id;
    if !system.setup.lacks(Guard::FixedEffectId) {
        return call_id.effect_id();
    }
    let mut drawn_anew = *call_id.as_bytes();
    drawn_anew[0] = u8::try_from(claimed.attempts()).expect("there are few attempts");
    CallId::from_bytes(drawn_anew).effect_id()
}

pub fn arrive(system: &System, world: &mut World, sent: usize) {
    let sent = world.under_way.remove(sent);
    let looks = system.setup.downstream != Downstream::Ignores;
    if !looks || !world.known.contains(&sent.effect_id) {
        let key = world.ledger_of(sent.call);
        world.ledger[key] += 1;
    }
    if looks && !world.known.contains(&sent.effect_id) {
        world.known.push(sent.effect_id);
        world.known.sort_unstable();
    }
    answer(world, &sent, Report::Happened);
}

pub fn decline(world: &mut World, sent: usize) {
    let sent = world.under_way.remove(sent);
    answer(world, &sent, Report::Declined);
}

/// Tells the worker that waits for it, if one still does.
fn answer(world: &mut World, sent: &Sent, report: Report) {
    let waits = |worker: &Worker| {
        matches!(worker, Worker::Running { asked: true, .. })
            && worker.attempt() == Some((sent.call, sent.attempt))
    };
    if let Some(worker) = world.workers.iter().position(waits) {
        worker::ends(world, worker, report);
    }
}

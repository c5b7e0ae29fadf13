//! Workers: read a pending call, claim it, ask the downstream, record the answer.

use callonce::domain::Command;
use callonce::domain::call::{Call, Effect, Failure};
use callonce::domain::command::{Claim, Fail, Recover, Succeed};
use callonce::domain::event::Interruption;
use callonce::testing::random_calls::at;

use super::Step;
use crate::execute::Turn;
use crate::law::Law;
use crate::system::System;
use crate::world::{Report, Worker, World};

pub fn offer(world: &World, steps: &mut Vec<Step>) {
    // Idle workers are all alike, so one of them stands for all.
    if world.workers.contains(&Worker::Idle) {
        let pending = |call: &usize| matches!(world.calls[*call].now.call, Call::Pending { .. });
        steps.extend((0..world.calls.len()).filter(pending).map(|call| Step::Take { call }));
    }
    for (worker, state) in world.workers.iter().enumerate() {
        match state {
            Worker::Dead | Worker::Idle => {}
            Worker::Claiming { .. } => {
                steps.extend([Step::Claim { worker }, Step::ClaimUnheard { worker }]);
            }
            Worker::Running { asked: false, .. } => steps.push(Step::Ask { worker }),
            Worker::Running { asked: true, .. } => steps.push(Step::TimeOut { worker }),
            Worker::Reporting { .. } => {
                steps.extend([Step::Report { worker }, Step::ReportUnheard { worker }]);
            }
        }
    }
}

pub fn take(world: &mut World, call: usize) {
    let idle = world.workers.iter().position(|worker| *worker == Worker::Idle).expect("one is idle");
    world.workers[idle] = Worker::Claiming { call, seen: world.calls[call].now.clone() };
}

/// Whether something was appended.
pub fn claim(system: &System, world: &mut World, worker: usize) -> bool {
    let Worker::Claiming { call, seen } = world.workers[worker].clone() else { return false };
    let claim = Claim { at: at(0), owner: system.owner.clone(), policy: system.policy.clone() };
    let turn = world.turn(&system.setup, Some(call), &seen, Command::Claim(claim));
    let now = world.calls[call].now.clone();
    world.workers[worker] = match turn {
        Turn::Conflict(_) => Worker::Claiming { call, seen: now },
        Turn::Appended(_) if matches!(now.call, Call::Running { .. }) => {
            Worker::Running { call, claimed: now, asked: false, lease_over: false }
        }
        Turn::Appended(_) | Turn::Answered | Turn::Refused => Worker::Idle,
    };
    matches!(turn, Turn::Appended(_))
}

/// Its time limit is over, and it does not know what became of its request.
pub fn time_out(world: &mut World, worker: usize) {
    ends(world, worker, Report::Unknown);
}

/// The worker's attempt has ended, and it is to report that.
pub fn ends(world: &mut World, worker: usize, report: Report) {
    let state = &mut world.workers[worker];
    if let Worker::Running { call, claimed, lease_over, .. } = state {
        let (call, lease_over, attempt) = (*call, *lease_over, claimed.call.attempts());
        *state = Worker::Reporting { call, attempt, report, seen: claimed.clone(), lease_over };
    }
}

/// Whether something was appended.
pub fn report(system: &System, world: &mut World, worker: usize) -> bool {
    let state = world.workers[worker].clone();
    let Worker::Reporting { call, attempt, report, seen, lease_over } = state else { return false };
    let current = world.calls[call].now.call.attempts();
    let turn = world.turn(&system.setup, Some(call), &seen, command(system, attempt, report));
    world.workers[worker] = match turn {
        Turn::Conflict(_) => {
            let seen = world.calls[call].now.clone();
            Worker::Reporting { call, attempt, report, seen, lease_over }
        }
        Turn::Appended(_) | Turn::Answered | Turn::Refused => Worker::Idle,
    };
    let appended = matches!(turn, Turn::Appended(_));
    if appended && attempt != current {
        world.broken = Some(Law::L3);
    }
    appended
}

fn command(system: &System, attempt: u32, report: Report) -> Command {
    let max_attempts = system.setup.max_attempts;
    match report {
        Report::Happened => Command::Succeed(Succeed {
            at: at(1),
            attempt,
            result: system.result.clone(),
            effect: Some(Effect { amount: Some(7) }),
        }),
        Report::Declined => {
            let (code, message) = ("declined".into(), "not now".into());
            let error = Failure { code, message, retryable: true, cause: None };
            Command::Fail(Fail { at: at(1), attempt, error, max_attempts })
        }
        Report::Unknown => Command::Recover(Recover {
            at: at(1),
            attempt,
            cause: Interruption::TimedOut,
            message: "no answer".into(),
            interrupted: Some(system.setup.interrupted),
            max_attempts,
        }),
    }
}

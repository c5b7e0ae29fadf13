//! Power cuts that have to lose: servers whose commits are not synced, and syncs that are not done.

use std::sync::Arc;

use super::Cut;
use crate::check::Rule;
use crate::fault::Weighted;
use crate::power::Disk;
use crate::run::{self, Outcome, Plan};
use crate::shim_library::library;

/// Each of them loses nearly everything.
const CUTS: u64 = 2;

/// What is broken, by the checker, where servers run in this environment and the power is cut under load.
fn control(title: &'static str, disk: &Arc<Disk>, environment: &[(&str, &str)]) -> Outcome {
    let plan = Plan::of_environment(title, "", CUTS);
    let outcome = run::play_in(&plan, disk.folder(), &mut [Weighted::new(1, Cut(disk.clone()))], |stage| {
        let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
        stage.server_env.extend(environment);
        // The head file notices some of it, and the server would refuse: the checker has to see it all the same.
        stage.server_env.push(("CALLONCE_ACCEPT_DATA_LOSS".into(), "true".into()));
    });
    outcome.tells();
    outcome
}

fn has_lost(outcome: &Outcome) {
    let lost = outcome.found(&[Rule::Lost, Rule::TakenBack]);
    assert!(lost > 0, "{}: the checker has noticed nothing", outcome.title);
}

#[test]
fn without_syncs_the_checker_sees_the_loss() {
    let Some(disk) = Disk::mount() else { return };
    let weak = [("CALLONCE_WEAKNESS", "no-sync")];
    has_lost(&control("control: synchronous=OFF, power cuts", &disk, &weak));
}

#[test]
fn with_syncs_that_lie_the_checker_sees_the_loss() {
    let Some(disk) = Disk::mount() else { return };
    let library = library().to_str().expect("it is plain");
    let lying = [("LD_PRELOAD", library), ("CALLONCE_SHIM_LIE", "yes")];
    has_lost(&control("control: fsync that does nothing, power cuts", &disk, &lying));
}

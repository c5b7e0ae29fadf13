//! Power cuts that have to lose: servers whose commits are not synced, and syncs that are not done.

use super::Cut;
use crate::check::Rule;
use crate::fault::Weighted;
use crate::power::Disk;
use crate::run::{self, Outcome, Plan};
use crate::shim_library::library;

/// Each of them loses nearly everything.
const CUTS: u64 = 2;

/// What is broken, by the checker, where servers run in this environment and the power is cut under load.
fn control(title: &'static str, environment: &[(&str, &str)]) -> Option<Outcome> {
    let disk = Disk::mount()?;
    let plan = Plan::of_environment(title, "", CUTS);
    let outcome = run::play_in(&plan, disk.folder(), &mut [Weighted::new(1, Cut(disk.clone()))], |stage| {
        let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
        stage.server_env.extend(environment);
        // The head file notices some of it, and the server would refuse: the checker has to see it all the same.
        stage.server_env.push(("CALLONCE_ACCEPT_DATA_LOSS".into(), "true".into()));
    });
    outcome.tells();
    Some(outcome)
}

fn has_lost(outcome: &Outcome) {
    let lost =
        outcome.findings.iter().filter(|finding| [Rule::Lost, Rule::TakenBack].contains(&finding.rule));
    assert!(lost.count() > 0, "{}: the checker has noticed nothing", outcome.title);
}

#[test]
fn without_syncs_the_checker_sees_the_loss() {
    let weak = [("CALLONCE_WEAKNESS", "no-sync")];
    if let Some(outcome) = control("control: synchronous=OFF, power cuts", &weak) {
        has_lost(&outcome);
    }
}

#[test]
fn with_syncs_that_lie_the_checker_sees_the_loss() {
    let library = library().to_str().expect("it is plain");
    let lying = [("LD_PRELOAD", library), ("CALLONCE_SHIM_LIE", "yes")];
    if let Some(outcome) = control("control: fsync that does nothing, power cuts", &lying) {
        has_lost(&outcome);
    }
}

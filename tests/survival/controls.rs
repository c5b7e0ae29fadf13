//! Runs that have to lose: the same load, kills and checker, on a server or a machine with a known fault. Only the witnesses notice.

use std::fs;
use std::path::PathBuf;

use crate::check::Rule;
use crate::fault::{Fault, Weighted};
use crate::kills::{Kill, kill_under_load};
use crate::run::{self, Outcome, Plan};
use crate::server::CARELESS;
use crate::stage::Stage;

/// Rounds of a control: enough to lose many times over.
const ROUNDS: u64 = 20;

/// Kills, and every second time puts back what was there the time before: the database, its WAL and its head file, so that the server
/// has nothing to notice it by.
struct PutBack {
    backup: tempfile::TempDir,
    taken: bool,
}

impl PutBack {
    fn new() -> Self {
        Self { backup: tempfile::tempdir().expect("a temporary folder can be made"), taken: false }
    }

    fn kept(&self, file: &std::path::Path) -> PathBuf {
        self.backup.path().join(file.file_name().expect("a file has a name"))
    }
}

impl Fault for PutBack {
    fn name(&self) -> &'static str {
        "kill -9, and every second time a backup put back with its head file"
    }

    fn strike(&mut self, stage: &mut Stage) {
        kill_under_load(stage);
        if !self.taken {
            for file in stage.files() {
                fs::copy(&file, self.kept(&file)).expect("a file can be copied");
            }
        } else {
            for file in stage.files() {
                let kept = self.kept(&file);
                match kept.exists() {
                    true => fs::rename(kept, &file).expect("a file can be put back"),
                    false => fs::remove_file(&file).expect("a file can be removed"),
                }
            }
        }
        self.taken = !self.taken;
    }
}

fn loses(outcome: &Outcome, rules: &[Rule]) {
    outcome.tells();
    for rule in rules {
        assert!(outcome.found(&[*rule]) > 0, "the checker did not see that {rule:?}");
    }
    // The fault is one that the server cannot know of.
    assert_eq!(outcome.complaints, Vec::<String>::new());
}

#[test]
fn a_backup_put_back_is_seen_as_calls_lost() {
    let plan = Plan::of_rounds("control: a backup put back has to lose", ROUNDS);
    let outcome = run::play(&plan, &mut [Weighted::new(1, PutBack::new())]);
    loses(&outcome, &[Rule::Lost, Rule::TwoCalls]);
}

#[test]
fn a_downstream_that_is_trusted_wrongly_is_seen_as_effects_doubled() {
    let plan = Plan::of_rounds("control: replays to a blind downstream have to double", ROUNDS);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let outcome = run::play_in(&plan, folder.path(), &mut [Weighted::new(1, Kill)], |stage| {
        stage.server_env.push((CARELESS.into(), "true".into()));
    });
    loses(&outcome, &[Rule::Doubled]);
    assert_eq!(outcome.found(&[Rule::Lost, Rule::TakenBack]), 0);
}

//! `kill -9` at random moments: under load, again while the next server recovers, and while the tables are made again.

use std::process::Stdio;
use std::time::Duration;

use crate::fault::{Fault, Weighted};
use crate::process::Process;
use crate::run::{self, Plan};
use crate::stage::Stage;

/// How far beyond its work a server is killed at most: some of them in the middle of an answer, some between two.
const LONGEST: Duration = Duration::from_millis(25);

/// Counted on the stage.
pub const IN_RECOVERY: &str = "kills before the server listened again";
pub const IN_REBUILD: &str = "kills of a rebuild half way";
pub const TOO_LATE: &str = "kills that came after recovery or rebuild was over";

/// Under load.
pub struct Kill;

impl Fault for Kill {
    fn name(&self) -> &'static str {
        "kill -9 under load"
    }

    fn strike(&mut self, stage: &mut Stage) {
        kill_under_load(stage);
    }
}

/// Under load, and then each server that is started to recover, up to three in a row: at any moment of its start, or right after it
/// has given up an attempt of the server before.
pub struct KillInRecovery;

impl Fault for KillInRecovery {
    fn name(&self) -> &'static str {
        "kill -9 under load and again during recovery"
    }

    fn strike(&mut self, stage: &mut Stage) {
        kill_under_load(stage);
        for _ in 0..stage.dice.between(1, 3) {
            let in_time = match stage.dice.percent(30) {
                true => dies_giving_up(stage),
                false => dies_at_a_moment(stage),
            };
            stage.count(if in_time { IN_RECOVERY } else { TOO_LATE });
        }
    }
}

fn dies_at_a_moment(stage: &mut Stage) -> bool {
    let mut recovering = stage.begin();
    stage.random_moment(stage.start_took());
    assert!(recovering.kill(), "a server ended by itself: {:?}", recovering.process.last_words());
    !recovering.has_listened()
}

/// Not in time if there was nothing to give up.
fn dies_giving_up(stage: &mut Stage) -> bool {
    let point = [("CALLONCE_CHAOS", "true"), ("CALLONCE_CRASH_AT", "recover.after_append")];
    let mut recovering = stage.begin_with(&point);
    let listened = recovering.listens_or_ends();
    assert!(recovering.kill(), "a server ended by itself: {:?}", recovering.process.last_words());
    !listened
}

/// Under load, and then a rebuild of the tables: half of them at the point half way, the others at any moment.
pub struct KillInRebuild;

impl Fault for KillInRebuild {
    fn name(&self) -> &'static str {
        "kill -9 under load and again during rebuild"
    }

    fn strike(&mut self, stage: &mut Stage) {
        kill_under_load(stage);
        let mut rebuild = stage.callonce("rebuild");
        rebuild.stdin(Stdio::null());
        let half_way = stage.dice.percent(50);
        if half_way {
            rebuild.arg("--chaos").env("CALLONCE_CRASH_AT", "rebuild.half_way");
        }
        let mut process = Process::start("rebuild", rebuild);
        if !half_way {
            stage.random_moment(LONGEST);
            process.signal(rustix::process::Signal::KILL);
        }
        let status = process.ends();
        let killed = std::os::unix::process::ExitStatusExt::signal(&status).is_some();
        assert!(killed || status.success(), "rebuild ended with {status}: {:?}", process.last_words());
        assert!(killed || !half_way, "rebuild did not pass the point half way: {:?}", process.last_words());
        stage.count(if killed { IN_REBUILD } else { TOO_LATE });
    }
}

/// The server's end; what others do to its files comes after it.
pub fn kill_under_load(stage: &mut Stage) {
    stage.random_moment(LONGEST);
    let mut server = stage.take_server();
    assert!(server.kill(), "the server ended by itself: {:?}", server.process.last_words());
}

fn faults() -> Vec<Weighted> {
    vec![Weighted::new(70, Kill), Weighted::new(18, KillInRecovery), Weighted::new(12, KillInRebuild)]
}

/// The whole of it: what was acknowledged, seen or done before a kill is so after it.
#[test]
fn nothing_is_lost_or_doubled_by_kill_9() {
    let plan = Plan::of_environment("kill -9", "CALLONCE_SURVIVAL_KILLS", 50);
    let mut outcome = run::play(&plan, &mut faults());
    outcome.tells();
    outcome.holds();
    // Kills of every kind, or the run has shown less than it says.
    let at_least = |what: &str, share: u64| {
        let times = outcome.counts.get(what).copied().unwrap_or_default();
        assert!(times >= plan.rounds / share, "{what}: only {times} in {} rounds", plan.rounds);
    };
    at_least(IN_RECOVERY, 10);
    at_least(IN_REBUILD, 25);
}

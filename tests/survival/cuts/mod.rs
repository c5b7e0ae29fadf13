//! Power cuts: under load, after a kill and a restart that has been read from, and while a server recovers.

mod seen;
mod weakened;

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use crate::fault::{Fault, Weighted};
use crate::power::{self, Disk};
use crate::run::{self, Plan};
use crate::server::Server;
use crate::shim_library::library;
use crate::stage::Stage;

/// How far beyond its work the power is cut at most.
const LONGEST: Duration = Duration::from_millis(25);
/// The sync of the WAL at which a server is killed is one of these, counted from its start: the first come before it listens.
const SYNCS: (u64, u64) = (4, 60);
/// What is read and acknowledged between a restart and the cut.
const LOOKS: u64 = 5;

/// Counted on the stage.
const KILLED_AT_A_SYNC: &str = "kills between the write of a commit and its sync";
const IN_RECOVERY: &str = "power cuts before the server listened again";
const TOO_LATE: &str = "power cuts that came after recovery was over";

/// Under load.
struct Cut(Arc<Disk>);

impl Fault for Cut {
    fn name(&self) -> &'static str {
        "power cut under load"
    }

    fn strike(&mut self, stage: &mut Stage) {
        let mut server = stage.take_server();
        goes_with_the_power(&mut server, &self.0, || stage.random_moment(LONGEST));
        self.0.restore(stage);
    }
}

/// After a kill at the worst moment, when a commit is written and not synced: the next server serves it from memory that the power
/// still holds, clients read it, and only then the power is cut. What they have read has to be there.
struct CutAfterRestart(Arc<Disk>);

impl Fault for CutAfterRestart {
    fn name(&self) -> &'static str {
        "kill -9 at a sync, restart, reads, then power cut"
    }

    fn strike(&mut self, stage: &mut Stage) {
        let mut server = stage.take_server();
        assert!(server.kill(), "the server ended by itself: {:?}", server.process.last_words());
        let sync = format!("sync -wal {}", stage.dice.between(SYNCS.0, SYNCS.1));
        let known = stage.server_env.len();
        stage.server_env.extend([
            ("LD_PRELOAD".into(), library().into()),
            ("CALLONCE_SHIM_FAULT".into(), sync.into()),
            ("CALLONCE_SHIM_KILL".into(), "yes".into()),
        ]);
        let mut dying = stage.begin();
        stage.server_env.truncate(known);
        let status = dying.process.ends();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(Signal::KILL.as_raw()), "{status}: {:?}", dying.process.last_words());
        stage.count(KILLED_AT_A_SYNC);
        stage.serve();
        let seen = stage.load.reaches(0).acknowledged;
        stage.load.reaches(seen + LOOKS);
        let mut server = stage.take_server();
        goes_with_the_power(&mut server, &self.0, || {});
        self.0.restore(stage);
    }
}

/// Under load, and then each server that is started to recover, up to three in a row.
struct CutInRecovery(Arc<Disk>);

impl Fault for CutInRecovery {
    fn name(&self) -> &'static str {
        "power cut under load and again during recovery"
    }

    fn strike(&mut self, stage: &mut Stage) {
        let mut server = stage.take_server();
        goes_with_the_power(&mut server, &self.0, || stage.random_moment(LONGEST));
        self.0.restore(stage);
        for _ in 0..stage.dice.between(1, 3) {
            let mut recovering = stage.begin();
            goes_with_the_power(&mut recovering, &self.0, || stage.random_moment(stage.start_took()));
            stage.count(if recovering.has_listened() { TOO_LATE } else { IN_RECOVERY });
            self.0.restore(stage);
        }
    }
}

/// The server and the power go at one moment: it is not given time to say anything more, and what it was just syncing is cut off
/// under way. (A server that lived on would be told lies: an fsync may say that all is well after the file system was shut down.)
fn goes_with_the_power(server: &mut Server, disk: &Disk, before: impl FnOnce()) {
    let ready = disk.ready();
    before();
    let was_alive = server.process.signal(Signal::KILL);
    ready.cut();
    server.process.ends();
    assert!(was_alive, "the server ended by itself: {:?}", server.process.last_words());
}

/// The whole of it: what was acknowledged, seen or done before the power was cut is so after it.
#[test]
fn nothing_is_lost_or_doubled_by_power_cuts() {
    let Some(disk) = Disk::mount() else { return };
    let mut faults = vec![
        Weighted::new(50, Cut(disk.clone())),
        Weighted::new(25, CutAfterRestart(disk.clone())),
        Weighted::new(25, CutInRecovery(disk.clone())),
    ];
    let plan = Plan::of_environment("power cuts", "CALLONCE_SURVIVAL_CUTS", 30);
    let mut outcome = run::play_in(&plan, disk.folder(), &mut faults, |_| {});
    outcome.tells();
    outcome.holds();
    let times = |what: &str| outcome.counts.get(what).copied().unwrap_or_default();
    // Cuts that lost nothing would show nothing.
    assert!(times(power::LOST) * 100 >= times(power::CUTS) * 95, "{:?}", outcome.counts);
    for (what, share) in [(power::CUTS, 1), (KILLED_AT_A_SYNC, 10), (IN_RECOVERY, 15)] {
        assert!(times(what) >= plan.rounds / share, "{what}: {:?}", outcome.counts);
    }
}

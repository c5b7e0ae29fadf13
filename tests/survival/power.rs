//! A disk whose power can be cut: ext4 in a file, on a loop device, that is shut down without a word to its journal.
//!
//! What was not synced is then nowhere: it was in the kernel's memory alone, and the file system no longer writes it. Mounting it
//! again replays the journal, as after a real cut.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::stage::Stage;

/// Of the file system, sparse: room for the database and its WAL of a long run.
const BYTES: u64 = 1 << 30;
/// The journal is not written by itself for so many seconds, so that nothing becomes durable that nobody synced. For the same
/// reason `noauto_da_alloc`: ext4 would begin to write a file that was once cut to nothing when a process that dies closes it.
const COMMIT_SECONDS: u32 = 600;
/// `EXT4_IOC_SHUTDOWN`, which takes how: 2 stands for "without flushing the journal". Perl, because it calls what no safe Rust
/// does, and is there wherever mkfs is.
const SHUTDOWN: &str = "open(my $folder, '<', $ARGV[0]) or die $!; my $how = pack('L', 2); $| = 1; print qq(ready\\n); \
                        <STDIN>; ioctl($folder, 0x8004587D, $how) or die $!";
/// Written and never synced before each cut, to see that it is gone after it.
const UNSYNCED: &str = "unsynced";

/// Counted on the stage.
pub const CUTS: &str = "power cuts";
pub const LOST: &str = "power cuts that lost what was not synced";

/// The disk; unmounted when this is dropped, however the test ends.
pub struct Disk {
    image: PathBuf,
    mounted: PathBuf,
    cuts: AtomicU64,
    _folder: tempfile::TempDir,
}

impl Disk {
    /// Nothing, and a word about it, where file systems cannot be mounted.
    pub fn mount() -> Option<Arc<Self>> {
        // In memory, if it can be: what the file system syncs need not reach a real disk to survive a cut of this one.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.expect("a temporary folder can be made");
        let (image, mounted) = (folder.path().join("disk"), folder.path().join("mounted"));
        std::fs::create_dir(&mounted).expect("the folder is ours");
        let sparse = std::fs::File::create(&image).and_then(|file| file.set_len(BYTES));
        sparse.expect("the folder is ours");
        let disk = Self { image, mounted, cuts: AtomicU64::new(0), _folder: folder };
        let made = run(Command::new("mkfs.ext4").arg("-q").arg(&disk.image));
        if let Err(problem) = made.and_then(|()| disk.mounts()) {
            crate::run::say(&format!("skipped: there is no power to cut here: {problem}\n"));
            return None;
        }
        Some(Arc::new(disk))
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        &self.mounted
    }

    fn mounts(&self) -> Result<(), String> {
        let options = format!("loop,noauto_da_alloc,commit={COMMIT_SECONDS}");
        run(Command::new("mount").args(["-t", "ext4", "-o", &options]).arg(&self.image).arg(&self.mounted))
    }

    /// Everything that a cut needs, so that it comes the moment it is to come.
    pub fn ready(&self) -> Ready {
        let number = self.cuts.fetch_add(1, Ordering::Relaxed);
        std::fs::write(self.unsynced(), text(number)).expect("the disk has power");
        let mut perl = Command::new("perl");
        perl.args(["-e", SHUTDOWN]).arg(&self.mounted).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut perl = perl.spawn().expect("perl runs");
        let mut said = [0; 6];
        let ready = perl.stdout.as_mut().expect("it is piped").read_exact(&mut said);
        ready.expect("perl is ready to cut the power");
        Ready(perl)
    }

    /// Gives the power back, once no process uses the disk any more.
    pub fn restore(&self, stage: &mut Stage) {
        stage.count(CUTS);
        if self.restores() {
            stage.count(LOST);
        }
    }

    /// The same; whether the cut has lost what was not synced.
    pub fn restores(&self) -> bool {
        run(Command::new("umount").arg(&self.mounted)).expect("nobody uses the disk");
        self.mounts().expect("it was mounted before");
        let number = self.cuts.load(Ordering::Relaxed) - 1;
        let kept = std::fs::read(self.unsynced()).is_ok_and(|kept| kept == text(number).as_bytes());
        let _ = std::fs::remove_file(self.unsynced());
        !kept
    }

    fn unsynced(&self) -> PathBuf {
        self.mounted.join(UNSYNCED)
    }
}

/// A hand on the switch.
pub struct Ready(Child);

impl Ready {
    /// Cuts the power.
    pub fn cut(mut self) {
        drop(self.0.stdin.take());
        let cut = self.0.wait().expect("perl ends");
        assert!(cut.success(), "the power is not cut: {cut}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, for a test that failed may have left a process there; the loop device goes with the last of them.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.mounted));
    }
}

fn text(number: u64) -> String {
    format!("{number:>4096}")
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr))),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

//! How long does a commit take on this disk? Writes of the size of a commit, each made durable, where the database will lie.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::json;

use super::check::Check;
use crate::cli::exit::Exit;
use crate::engine::clock::Stopwatch;
use crate::engine::ids;

const NAME: &str = "fsync latency";
/// The columns of what was measured, for people.
pub(super) const COLUMNS: [&str; 6] = ["bytes", "blocks", "count", "p50_us", "p99_us", "max_us"];
/// A page and the head that SQLite puts before it in the WAL.
const FRAME: usize = 4096 + 24;
/// How many frames are written before a sync: the least a commit can be, and about what one call takes.
const FRAMES: [usize; 2] = [1, 4];
/// How often each is done: enough for a 99th percentile of two samples.
const TIMES: u64 = 200;
/// How long one pattern may take on a slow disk.
const AT_MOST: Duration = Duration::from_secs(1);
/// The longest that can be told, in microseconds: a minute. A longer one is told as this.
const LONGEST: u64 = 60_000_000;

/// Where the written blocks lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocks {
    /// Behind the end, as while the WAL grows: the file's length has to become durable too.
    Appended,
    /// Over what was there, as when the WAL has begun anew.
    Overwritten,
}

impl Blocks {
    fn name(self) -> &'static str {
        match self {
            Self::Appended => "appended",
            Self::Overwritten => "overwritten",
        }
    }
}

/// One pattern, done many times.
struct Pattern {
    bytes: usize,
    blocks: Blocks,
    micros: Histogram<u64>,
}

/// Measures in the folder of the database at `path`, until `stop` says that nobody wants it any more.
pub(super) fn check(path: &Path, stop: &AtomicBool) -> Check {
    match Probe::beside(path).and_then(|probe| measure(&probe.file, stop)) {
        Ok(patterns) => judge(&patterns),
        Err(error) => {
            use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
            let to_do = if matches!(error.kind(), StorageFull | QuotaExceeded) {
                "make room"
            } else if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) {
                "run this as the user that runs the server, who has to write there"
            } else {
                "look at the disk and at the system's log: a server would stop at such an error"
            };
            let found = format!("a file beside {} cannot be made durable: {error}", path.display());
            Check::problem(NAME, Exit::Storage, found, to_do)
        }
    }
}

fn measure(file: &File, stop: &AtomicBool) -> io::Result<Vec<Pattern>> {
    let mut patterns = Vec::new();
    let mut end = 0;
    for frames in FRAMES {
        let bytes = vec![0x5A; frames * FRAME];
        let begin = end;
        for blocks in [Blocks::Appended, Blocks::Overwritten] {
            let mut micros = Histogram::new_with_max(LONGEST, 3).map_err(io::Error::other)?;
            let whole = Stopwatch::start();
            let mut at = begin;
            while micros.len() < TIMES && whole.elapsed() < AT_MOST && !stop.load(Ordering::Relaxed) {
                if blocks == Blocks::Overwritten && at == end {
                    at = begin;
                }
                let watch = Stopwatch::start();
                file.write_all_at(&bytes, at)?;
                file.sync_data()?;
                micros
                    .saturating_record(u64::try_from(watch.elapsed().as_micros()).unwrap_or(LONGEST).max(1));
                at += bytes.len() as u64;
                end = end.max(at);
            }
            patterns.push(Pattern { bytes: bytes.len(), blocks, micros });
        }
    }
    Ok(patterns)
}

/// A commit that takes longer than this makes every call slow: solid state disks need a tenth of it.
const SLOW: Duration = Duration::from_millis(10);
/// A hundredth of the commits is a client's wait now and then.
const SLOW_P99: Duration = Duration::from_millis(100);

fn judge(patterns: &[Pattern]) -> Check {
    let figures: Vec<_> = patterns.iter().map(Pattern::figures).collect();
    // A commit in the long run: about what one call writes, into a WAL that has its size.
    let Some(commit) = patterns.last().filter(|pattern| !pattern.micros.is_empty()) else {
        return Check::warning(NAME, "nothing was measured", "run it again");
    };
    let (p50, p99) = (commit.quantile(0.5), commit.quantile(0.99));
    let found = format!(
        "a commit takes about {} here (p99 {}, longest {}); a call is acknowledged after one, and has its result after two; \
         many clients share one",
        millis(p50),
        millis(p99),
        millis(Duration::from_micros(commit.micros.max()))
    );
    let check = match p50 > SLOW || p99 > SLOW_P99 {
        true => {
            let to_do = "use a faster disk (SSD or NVMe, local), or look for what else keeps this one busy; nothing is at \
                         risk, but each call waits for it";
            Check::warning(NAME, found, to_do)
        }
        false => Check::ok(NAME, found),
    };
    check.with(json!(figures))
}

impl Pattern {
    fn quantile(&self, quantile: f64) -> Duration {
        Duration::from_micros(self.micros.value_at_quantile(quantile))
    }

    fn figures(&self) -> serde_json::Value {
        json!({
            "bytes": self.bytes,
            "blocks": self.blocks.name(),
            "count": self.micros.len(),
            "p50_us": self.micros.value_at_quantile(0.5),
            "p99_us": self.micros.value_at_quantile(0.99),
            "max_us": self.micros.max(),
        })
    }
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// A file beside the database for as long as this lives. It has a name, because some file systems leave out the sync of a
/// file that has none.
struct Probe {
    path: PathBuf,
    file: File,
}

impl Probe {
    fn beside(database: &Path) -> io::Result<Self> {
        let mut name = database.as_os_str().to_owned();
        name.push(format!("-doctor-{}", ids::key()));
        let path = PathBuf::from(name);
        // A name that nobody else has, so that nothing of anybody is followed, overwritten or removed.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path, file })
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::State;

    fn pattern(micros: &[u64]) -> Pattern {
        let mut all = Histogram::new_with_max(LONGEST, 3).unwrap();
        micros.iter().for_each(|micros| all.saturating_record(*micros));
        Pattern { bytes: 4 * FRAME, blocks: Blocks::Overwritten, micros: all }
    }

    #[test]
    fn only_a_slow_disk_is_warned_of() {
        let quick = [300; 99];
        for (micros, state) in [
            (&quick[..], State::Ok),
            (&[&quick[..], &[90_000]].concat(), State::Ok),
            (&[&quick[..], &[900_000, 900_000]].concat(), State::Warning),
            (&[12_000; 5], State::Warning),
            (&[], State::Warning),
        ] {
            let check = judge(&[pattern(micros)]);
            assert_eq!(check.state, state, "{check:?}");
        }
        let told = judge(&[pattern(&quick)]).found;
        assert!(told.contains("about 0.30 ms here (p99 0.30 ms"), "{told}");
    }

    #[test]
    fn what_is_written_is_put_away_and_nothing_else_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("calls.db");
        let listed = || std::fs::read_dir(folder.path()).unwrap().count();
        let check = check(&database, &AtomicBool::new(false));
        assert_eq!((check.figures.unwrap().as_array().unwrap().len(), listed()), (4, 0));
        // Whatever lies there already is somebody else's.
        let other = folder.path().join("other");
        std::fs::write(&other, "precious").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("calls.db-doctor")).unwrap();
        std::fs::write(folder.path().join("calls.db-doctor-1"), "precious").unwrap();
        let stopped = super::check(&database, &AtomicBool::new(true));
        assert_eq!((stopped.state, listed()), (State::Warning, 3));
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    }
}

//! Where is there room on a full disk for what has already happened? In a file that keeps some, and gives it back in steps.
//!
//! A tool that was running when the disk filled up may have had its effect, and the log has to say so. New work can wait. So
//! the reports of attempts get this space, and nothing new is taken in until it is whole again. The file holds no data: to
//! lose it loses nothing, and whatever is wrong with it is no reason to stop.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::paths;

/// What the file's name ends with.
const SUFFIX: &str = "-reserve";
/// What `stat` counts in.
const BLOCK_BYTES: u64 = 512;
/// What is kept: the report of one attempt writes some ten pages of 4 KiB, and a batch of reports shares most of them, so
/// this is room for some hundred that come one by one.
pub const KEPT_BYTES: u64 = 8 << 20;
/// What is given at a time: several reports, and so little that a checkpoint which comes first does not take the rest.
const STEP_BYTES: u64 = 1 << 20;

/// The bytes that are kept aside beside the database at `path`.
pub(super) fn kept_aside(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(paths::beside(path, SUFFIX)).map_or(0, |file| file.blocks() * BLOCK_BYTES)
}

/// The space kept aside beside a database.
#[derive(Debug)]
pub(super) struct Reserve {
    /// Nothing where space cannot be kept, which is then as if there were none to keep.
    file: Option<File>,
    /// What the file has now.
    kept: u64,
}

impl Reserve {
    /// Opens the file of the database at `path`, and gives a step of it to the start, which needs some room of its own.
    pub(super) fn open(path: &Path) -> Self {
        let name = paths::beside(path, SUFFIX);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&name);
        let kept = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
        let mut reserve = match kept {
            Ok((kept, file)) => Self { file: Some(file), kept },
            Err(error) => Self::none(&error),
        };
        reserve.give();
        reserve
    }

    fn none(error: &io::Error) -> Self {
        tracing::warn!("no space can be kept aside for a full disk: {error}");
        Self { file: None, kept: 0 }
    }

    /// Whether there is nothing to fill up.
    pub(super) fn is_whole(&self) -> bool {
        self.file.is_none() || self.kept == KEPT_BYTES
    }

    /// Gives a step back to the file system; `false` if there was none left. Where a step cannot be given there is none left
    /// from then on, and the caller's next try finds whether it was needed.
    pub(super) fn give(&mut self) -> bool {
        let Some(file) = &self.file else { return false };
        if self.kept == 0 {
            return false;
        }
        let left = self.kept.min(KEPT_BYTES).saturating_sub(STEP_BYTES);
        match file.set_len(left) {
            Ok(()) => self.kept = left,
            Err(error) => *self = Self::none(&error),
        }
        true
    }

    /// Takes back what was given.
    ///
    /// # Errors
    /// The disk has not so much space. Nothing of it was taken then.
    pub(super) fn refill(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        // All of it, for a file that was copied may have a length and no space.
        let filled = rustix::io::retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, KEPT_BYTES));
        match filled {
            Ok(()) => {
                self.kept = KEPT_BYTES;
                Ok(())
            }
            Err(error @ (Errno::NOSPC | Errno::DQUOT)) => {
                // A part may have been taken, which is room that the reports need.
                file.set_len(self.kept)?;
                Err(io::Error::new(ErrorKind::StorageFull, error))
            }
            Err(error) => {
                *self = Self::none(&error.into());
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn it_is_given_in_steps_and_taken_back_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("calls.db");
        let taken = || std::fs::metadata(folder.path().join("calls.db-reserve")).unwrap().blocks() * 512;
        let mut reserve = Reserve::open(&database);
        assert!(!reserve.is_whole() && !reserve.give(), "there is nothing yet");
        reserve.refill().unwrap();
        assert!(reserve.is_whole() && taken() >= KEPT_BYTES, "{}", taken());
        let mut given = 0;
        while reserve.give() {
            given += 1;
            assert!(!reserve.is_whole() && taken() < KEPT_BYTES);
        }
        assert_eq!((given, taken()), (KEPT_BYTES / STEP_BYTES, 0));
        reserve.refill().unwrap();
        drop(reserve);
        let mut again = Reserve::open(&database);
        assert!(!again.is_whole(), "the start was given a step");
        again.refill().unwrap();
        assert!(again.is_whole() && taken() >= KEPT_BYTES);
    }

    #[test]
    fn where_no_space_can_be_kept_there_is_none_to_wait_for() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("calls.db-reserve")).unwrap();
        let mut reserve = Reserve::open(&folder.path().join("calls.db"));
        assert!(reserve.is_whole() && !reserve.give());
        reserve.refill().unwrap();
    }
}

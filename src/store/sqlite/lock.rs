//! One server at a time: a lock file beside the database.
//!
//! The lock is on a file of its own, because opening and closing the database file outside SQLite would drop SQLite's own
//! locks. It ends with the process, however that ends, so nobody has to judge whether its holder still lives; the file
//! stays, because removing it would let two servers lock two files of one name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind::{QuotaExceeded, StorageFull};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::options::{Holder, OpenError};
use super::paths;

/// How much of a lock file is read: its few lines, and not whatever else might be there.
const MOST_BYTES: u64 = 1024;

/// How often the lock is tried: a server that was killed while it started a process leaves the lock to that process, for
/// the moment until that has closed the files it inherited.
const TRIES: usize = 10;
/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock on a database; let go when this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of the database at `path`, or says who has it.
    pub(super) fn take(path: &Path, holder: &Holder) -> Result<Self, OpenError> {
        let lock = paths::beside(path, "-lock");
        let storage =
            |error: std::io::Error| OpenError::Storage { path: lock.clone(), problem: error.to_string() };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock)
            .map_err(storage)?;
        let mut tries = 1;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < TRIES => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(OpenError::Locked { path: path.to_owned(), by: read(&mut file), lock });
                }
                Err(TryLockError::Error(error)) => return Err(storage(error)),
            }
            tries += 1;
        }
        match file.set_len(0).and_then(|()| writeln!(file, "{holder}")) {
            // The name is a courtesy, and a server that was stopped has to start on a full disk, too.
            Err(error) if !matches!(error.kind(), StorageFull | QuotaExceeded) => Err(storage(error)),
            Ok(()) | Err(_) => Ok(Self { file }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Whoever reads the file now should not be told of a holder that has gone; it is only a courtesy.
        let _ = self.file.set_len(0);
        // Closing the file would leave the lock to a process that is just being started from this one, until it has closed
        // the files it inherited.
        let _ = self.file.unlock();
    }
}

/// What the lock file of the database at `path` says about its holder; nothing if no server has it open.
pub fn holder(path: &Path) -> std::io::Result<Option<String>> {
    // The lock lies beside the file itself, whatever links lead to it.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut file = match File::open::<PathBuf>(paths::beside(&path, "-lock")) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(read(&mut file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn read(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(MOST_BYTES).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        // Between taking the lock and writing the name there is a moment.
        Ok(_) | Err(_) => "it did not say who it is".to_owned(),
    }
}

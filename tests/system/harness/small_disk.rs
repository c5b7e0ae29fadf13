//! A file system of its own for a database, so small that it can be filled.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system of some megabytes, gone when the test is over.
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Nothing, and a word about it, where file systems cannot be mounted.
    pub fn mount(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "callonce-test"]);
        let mounted = mount.arg(folder.path()).output();
        if !mounted.as_ref().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: a small file system cannot be mounted here: {mounted:?}");
            return None;
        }
        Some(Self { folder })
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes to a file, which may be there already, until not a byte more fits on the disk.
    pub fn fill(&self) -> PathBuf {
        let path = self.folder.path().join("filler");
        let mut file =
            OpenOptions::new().append(true).create(true).open(&path).expect("a file needs no space");
        for bytes in [1 << 20, 1 << 12] {
            let bytes = vec![0; bytes];
            let full = std::iter::repeat_with(|| file.write_all(&bytes)).find_map(Result::err);
            assert_eq!(full.map(|error| error.kind()), Some(ErrorKind::StorageFull));
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}

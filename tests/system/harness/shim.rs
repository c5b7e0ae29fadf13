//! A library between a server and the C library, which counts what is written to the database's files and lets one of it fail.

use std::path::{Path, PathBuf};

use super::shim_library::library;

/// What one server writes to its disk, and what of it is to fail.
pub struct Shim {
    folder: tempfile::TempDir,
    fault: Option<String>,
}

/// The word after the line of what was made to fail.
const STRUCK: &str = " STRUCK";

impl Shim {
    /// `fault` is in the words of the library: `sync -wal 3` lets the third sync of the WAL fail.
    pub fn new(fault: Option<String>) -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder can be made"), fault }
    }

    /// What a server has to find in its environment.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.to_str().expect("a temporary folder has a plain name").to_owned();
        let mut environment = vec![
            ("LD_PRELOAD", text(library())),
            ("CALLONCE_SHIM_LOG", text(&self.log())),
            ("CALLONCE_SHIM_ARM", text(&self.arming())),
        ];
        environment.extend(self.fault.clone().map(|fault| ("CALLONCE_SHIM_FAULT", fault)));
        environment
    }

    /// What is to fail, in the words of the library; nothing if nothing is.
    pub fn fault(&self) -> &str {
        self.fault.as_deref().unwrap_or_default()
    }

    /// Counts from now on.
    pub fn arm(&self) {
        std::fs::write(self.arming(), "").expect("the folder is ours");
    }

    /// What was written, cut and synced since it was armed, in order: `write -wal`, `sync db`.
    pub fn operations(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        log.lines().map(|line| line.trim_end_matches(STRUCK).to_owned()).collect()
    }

    /// What came after the one that failed; nothing if none has failed.
    pub fn after_the_fault(&self) -> Option<Vec<String>> {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let mut lines = log.lines();
        lines.by_ref().find(|line| line.ends_with(STRUCK))?;
        Some(lines.map(str::to_owned).collect())
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn arming(&self) -> PathBuf {
        self.folder.path().join("armed")
    }
}

//! A folder with a database in it, and short words for what the tests do to it.

use std::path::{Path, PathBuf};

use callonce::store::sqlite::{OpenError, Options, SqliteStore};

/// A folder that is gone when the test is over.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn database(&self) -> PathBuf {
        self.folder().join("calls.db")
    }

    pub fn open(&self) -> SqliteStore {
        self.open_with(Options::default()).unwrap()
    }

    pub fn open_with(&self, options: Options) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(&self.database(), options)
    }
}

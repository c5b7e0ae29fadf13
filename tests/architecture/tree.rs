//! The files of the repository, read once each time somebody asks.

use std::fs;
use std::path::{Path, PathBuf};

/// A file with its path from the root of the repository, in slashes.
pub struct File {
    pub path: String,
    pub text: String,
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files below `folder` whose names end in `ending`, in order; none if there is no such folder.
pub fn files(folder: &str, ending: &str) -> Vec<File> {
    let mut files = Vec::new();
    for path in below(&root().join(folder)) {
        if path.is_file() && path.to_string_lossy().ends_with(ending) {
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            files.push(File { path: from_root(&path), text });
        }
    }
    files
}

/// The folders below `folder`, itself aside.
pub fn folders(folder: &str) -> Vec<String> {
    let below = below(&root().join(folder));
    below.into_iter().filter(|path| path.is_dir()).map(|path| from_root(&path)).collect()
}

/// The text of one file; nothing if there is none.
pub fn read(path: &str) -> Option<String> {
    fs::read_to_string(root().join(path)).ok()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let inner = if path.is_dir() { below(&path) } else { vec![] };
        all.push(path);
        all.extend(inner);
    }
    all
}

fn from_root(path: &Path) -> String {
    path.strip_prefix(root()).expect("it lies below the root").to_string_lossy().replace('\\', "/")
}

//! Where is the database, and what lies beside it?

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::options::OpenError;

/// The file beside the database whose name is the database's own with `suffix` after it.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    name.into()
}

/// The one path of the database that `path` leads to, so that every server takes the same lock whatever links it came by.
///
/// # Errors
/// [`OpenError::Storage`] if its folder cannot be reached; [`OpenError::Refused`] if the file has a second hard link,
/// which no path can show.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    let storage = |path: &Path, problem: String| OpenError::Storage { path: path.to_owned(), problem };
    match path.canonicalize() {
        Ok(resolved) => {
            let file = resolved.metadata().map_err(|error| storage(&resolved, error.to_string()))?;
            match (file.is_file(), file.nlink()) {
                (false, _) => Err(storage(&resolved, "this is not a file".into())),
                (true, 1) => Ok(resolved),
                (true, links) => Err(OpenError::Refused {
                    path: resolved,
                    problem: format!(
                        "the file has {links} names (hard links), and two programs that use two of them would damage it"
                    ),
                    way_out: "make a copy instead".into(),
                }),
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.is_symlink() => {
            let name =
                path.file_name().ok_or_else(|| storage(path, "this is not the name of a file".into()))?;
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                Some(_) | None => Path::new("."),
            };
            let folder = folder.canonicalize().map_err(|error| storage(folder, error.to_string()))?;
            Ok(folder.join(name))
        }
        Err(error) => Err(storage(path, error.to_string())),
    }
}

/// Refuses a database that this process may not write, before SQLite makes its own files beside it, which would take over
/// the wrong permissions and keep them when the database's have been mended.
pub(super) fn guard_access(resolved: &Path) -> Result<(), OpenError> {
    use rustix::fs::{Access, access};
    match access(resolved, Access::READ_OK | Access::WRITE_OK) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(OpenError::Storage {
            path: resolved.to_owned(),
            problem: format!("this process may not write it ({error})"),
        }),
    }
}

/// The folder of a path that [`resolve`] gave.
pub(super) fn folder(resolved: &Path) -> &Path {
    resolved.parent().unwrap_or(Path::new("/"))
}

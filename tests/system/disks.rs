//! Disks that may not be written to: the server says which file, and leaves everything as it was.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use super::harness::{CHARGE, Exit, Home, Start};

/// The user that owns nothing.
const NOBODY: u32 = 65534;

fn mode(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// A stopped database whose files all belong to the user that [`end_as_nobody`] runs the server as.
fn stopped() -> Home {
    let home = Home::new();
    let server = home.serve();
    server.client().settle("k", CHARGE);
    assert_eq!(server.stop().code, Some(0));
    if rustix::process::geteuid().is_root() {
        chown(home.folder(), Some(NOBODY), Some(NOBODY)).expect("root may");
        for file in std::fs::read_dir(home.folder()).expect("it can be listed") {
            chown(file.expect("it can be listed").path(), Some(NOBODY), Some(NOBODY)).expect("root may");
        }
    }
    home
}

/// The end of a server for which permissions count: for root they do not.
fn end_as_nobody(database: &Path) -> Exit {
    if !rustix::process::geteuid().is_root() {
        return Start::on(database).end();
    }
    // The program may lie in a folder that others cannot enter.
    let everybody = tempfile::tempdir().expect("a temporary folder can be made");
    mode(everybody.path(), 0o755);
    let program = everybody.path().join("callonce");
    // Not by this process: what it has open for writing, a child that another test starts meanwhile has open too, and
    // such a file cannot be run.
    let copied = Command::new("cp").arg(super::harness::PROGRAM).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()), "the program can be copied");
    Start::of(&program, database).user(NOBODY).end()
}

fn names(exit: &Exit, path: &Path, says: &str) {
    assert_eq!(exit.code, Some(74), "{exit:?}");
    let path = path.to_str().expect("a temporary folder has a plain name");
    assert!(exit.stderr.contains(path) && exit.stderr.contains(says), "no `{path}: {says}` in {exit:?}");
}

#[test]
fn a_database_that_may_only_be_read_is_refused() {
    let home = stopped();
    mode(&home.database(), 0o444);
    names(&end_as_nobody(&home.database()), &home.database(), "this process may not write it");
    home.db().keeps_the_laws();
}

#[test]
fn a_folder_that_may_only_be_read_is_refused() {
    let home = stopped();
    mode(home.folder(), 0o555);
    names(&end_as_nobody(&home.database()), &home.database(), "SQLite code");
    // No database yet, and none can be made.
    let new = home.folder().join("new.db");
    names(&end_as_nobody(&new), &new, "Permission denied");
    mode(home.folder(), 0o755);
    // A folder that is not there, and one that is no folder.
    let nowhere = home.folder().join("nowhere").join("calls.db");
    names(&Start::on(&nowhere).end(), nowhere.parent().expect("it has one"), "No such file or directory");
    names(&Start::on(home.folder()).end(), home.folder(), "not a file");
    home.db().keeps_the_laws();
}

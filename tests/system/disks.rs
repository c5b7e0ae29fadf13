//! Disks that may not be written to, or have no space: the server says which file, serves what it can, and recovers.

use std::fs::{File, Permissions, set_permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{CHARGE, Exit, Home, Start, until};

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

/// A file system of a few megabytes, gone when the test is over.
pub struct SmallDisk {
    pub folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Nothing, and a word about it, where file systems cannot be mounted.
    pub fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut mount = Command::new("mount");
        let mounted =
            mount.args(["-t", "tmpfs", "-o", "size=4m", "callonce-test"]).arg(folder.path()).output();
        if !mounted.as_ref().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: a small file system cannot be mounted here: {mounted:?}");
            return None;
        }
        Some(Self { folder })
    }

    /// Writes a file until not a byte more fits on the disk.
    pub fn fill(&self) -> PathBuf {
        let path = self.folder.path().join("filler");
        let mut file = File::create(&path).expect("there is space");
        let full = std::iter::repeat_with(|| file.write_all(&[0; 4096])).find_map(Result::err);
        assert_eq!(full.map(|error| error.kind()), Some(ErrorKind::StorageFull));
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}

#[test]
fn a_full_disk_refuses_new_calls_until_there_is_space_again() {
    let Some(disk) = SmallDisk::mount() else { return };
    let database = disk.folder.path().join("calls.db");
    let server = Start::on(&database).server();
    let client = server.client();
    let before = client.settle("before", CHARGE);
    // Its outcome will have to be recorded while there is no space for it.
    client.post("running", r#"{"tool":"sleep","args":{"seconds":1}}"#);
    client.reaches("running", "running");

    let filler = disk.fill();
    let mut accepted = Vec::new();
    let refused = until("a call is refused for want of space", || {
        let key = format!("k-{}", accepted.len());
        let answer = client.post(&key, CHARGE);
        if answer.status == 507 {
            return Some((key, answer));
        }
        assert_eq!(answer.status, 202, "{answer:?}");
        accepted.push(key);
        None
    });
    let (key, answer) = refused;
    assert_eq!((answer.code().as_str(), answer.json()["retryable"].as_bool()), ("storage_full", Some(true)));
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert!(!answer.body.contains("calls.db") && !answer.body.contains("SQLite"), "{answer:?}");
    let log = server.says("the store failed");
    assert!(log.contains("calls.db") && log.contains("full (SQLite code 13)"), "{log}");

    // What is there can be read, and what was refused is not there.
    assert_eq!(client.by_key("before").body, before.body);
    assert_eq!(client.by_key(&key).status, 404);
    assert_eq!(client.get("/stats").status, 200);
    assert_eq!(client.get("/v1/tool-calls").status, 200);
    assert_eq!(client.get("/readyz").status, 503);
    assert_eq!(client.post(&key, CHARGE).status, 507);

    std::fs::remove_file(filler).expect("it is ours");
    accepted.push(key.clone());
    assert_eq!(client.post(&key, CHARGE).status, 202, "space is back, and nobody restarts anything");
    for key in &accepted {
        assert_eq!(client.settle(key, CHARGE).text("status"), "succeeded");
    }
    assert_eq!(client.reaches("running", "succeeded").json()["attempt"], 1);
    assert_eq!(client.get("/readyz").status, 200);
    super::harness::Db::open(&database).keeps_the_laws();
    assert_eq!(server.stop().code, Some(0));
}

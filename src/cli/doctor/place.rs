//! Where does the database lie? The file system, the room on it, and whether this process may write there.

use std::path::Path;

use serde_json::json;

use super::check::{Check, size};
use crate::cli::exit::{Exit, Failure};
use crate::store::sqlite::examine::{self, KEPT_ASIDE};
use crate::store::sqlite::network_filesystem;

/// Kinds of file systems, as `statfs` numbers them, that are known by name.
const KNOWN: [(u32, &str); 9] = [
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0x2FC1_2FC1, "zfs"),
    (0xF2F5_2010, "f2fs"),
    (0xCA45_1A4E, "bcachefs"),
    (TMPFS, "tmpfs"),
    (RAMFS, "ramfs"),
    (OVERLAY, "overlayfs"),
];
const TMPFS: u32 = 0x0102_1994;
const RAMFS: u32 = 0x8584_58F6;
const OVERLAY: u32 = 0x794C_7630;

/// Below this no call is accepted: what is kept aside for a full disk comes first, and each other file needs some blocks.
const TOO_LITTLE: u64 = KEPT_ASIDE + (1 << 20);
/// Below this it is time to act: a burst may take this much for the WAL alone.
const LITTLE: u64 = 256 << 20;
/// What the WAL takes at rest.
const WAL_BYTES: u64 = 64 << 20;
/// What a call takes in the file, all in all: a million of them fill 1.7 GB.
const BYTES_OF_A_CALL: u64 = 1_700;
/// Files that a start may have to make: database, WAL, its index, lock, head, the new head beside the old one, and the space
/// kept aside.
const FILES: u64 = 7;

/// Whether what lies there is only in memory: gone with the machine's next start, and much faster than on any disk.
pub(in crate::cli) fn is_in_memory(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|found| in_memory(found.f_type as u32))
}

fn in_memory(kind: u32) -> bool {
    matches!(kind, TMPFS | RAMFS)
}

pub(super) fn file_system(folder: &Path) -> Check {
    const NAME: &str = "file system";
    let shown = folder.display();
    let kind = match rustix::fs::statfs(folder) {
        Ok(found) => found.f_type as u32,
        Err(error) => return unreadable(NAME, folder, error),
    };
    if let Some(network) = network_filesystem(kind) {
        return Check::problem(
            NAME,
            Exit::Config,
            format!(
                "{shown} lies on a network file system ({network}), whose locks and fsync cannot be trusted"
            ),
            "use a local disk; `serve` refuses this one unless --allow-network-filesystem vouches for it",
        );
    }
    let name = KNOWN.iter().find(|(number, _)| *number == kind).map(|(_, name)| (*name).to_owned());
    let name = name.unwrap_or_else(|| format!("of the kind 0x{kind:X}"));
    let found = format!("{shown} lies on a local file system ({name})");
    match kind {
        kind if in_memory(kind) => Check::warning(
            NAME,
            format!("{found}, which is in memory: a restart of the machine loses every call"),
            "use a disk, but for a trial",
        ),
        OVERLAY => Check::warning(
            NAME,
            format!("{found}, a layer that usually goes away with its container"),
            "put the database on a volume",
        ),
        _ => Check::ok(NAME, found),
    }
}

pub(super) fn free_space(path: &Path) -> Check {
    const NAME: &str = "free space";
    let folder = examine::folder(path);
    let stat = match rustix::fs::statvfs(folder) {
        Ok(stat) => stat,
        Err(error) => return unreadable(NAME, folder, error),
    };
    if stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
        let found = format!("the file system of {} is mounted read-only", folder.display());
        return Check::problem(NAME, Exit::Storage, found, "mount it for writing, or use another one");
    }
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    // Some file systems make room for files as they go, and count none.
    let files = (stat.f_files > 0).then_some(stat.f_favail);
    let aside = examine::kept_aside(path);
    let figures = json!({ "free_bytes": free, "kept_aside_bytes": aside, "free_files": files });
    judge_space(NAME, free, aside, files).with(figures)
}

fn judge_space(name: &'static str, free: u64, aside: u64, files: Option<u64>) -> Check {
    let usable = free.saturating_add(aside);
    let room = usable.saturating_sub(KEPT_ASIDE + WAL_BYTES) / BYTES_OF_A_CALL;
    let found = format!("{} are free, for some {room} calls", size(free));
    let make_room = "make room, or move the database to a larger disk; the file only grows";
    match files {
        Some(files) if files < FILES => {
            let found = format!("{found}, but only {files} more files can be made");
            Check::problem(name, Exit::Storage, found, "remove files: a start may have to make some")
        }
        _ if usable < TOO_LITTLE => Check::problem(name, Exit::Storage, found, make_room),
        _ if usable < LITTLE => Check::warning(name, found, make_room),
        _ => Check::ok(name, found),
    }
}

pub(super) fn access(path: &Path) -> Check {
    const NAME: &str = "permissions";
    match examine::guard_access(path) {
        Ok(()) => Check::ok(NAME, "this user may write the database's files"),
        Err(error) => {
            let Failure { exit, message } = error.into();
            Check::problem(NAME, exit, message, "give them to the user that runs the server")
        }
    }
}

fn unreadable(name: &'static str, folder: &Path, error: rustix::io::Errno) -> Check {
    let found = format!("{} cannot be looked at: {error}", folder.display());
    Check::problem(name, Exit::Storage, found, "look at the disk and at the system's log")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::State;

    #[test]
    fn little_space_is_told_before_it_is_gone() {
        let problem = State::Problem(Exit::Storage);
        for (free, aside, files, state) in [
            (0, 0, None, problem),
            (TOO_LITTLE - 1, 0, Some(1000), problem),
            (TOO_LITTLE, 0, Some(1000), State::Warning),
            (TOO_LITTLE - KEPT_ASIDE, KEPT_ASIDE, None, State::Warning),
            (LITTLE - 1, 0, None, State::Warning),
            (LITTLE, 0, None, State::Ok),
            (1 << 40, 0, Some(FILES), State::Ok),
            (1 << 40, 0, Some(FILES - 1), problem),
        ] {
            assert_eq!(
                judge_space("free space", free, aside, files).state,
                state,
                "{free} {aside} {files:?}"
            );
        }
        let found = judge_space("free space", KEPT_ASIDE + WAL_BYTES + 10 * BYTES_OF_A_CALL, 0, None).found;
        assert!(found.ends_with("for some 10 calls"), "{found}");
    }
}

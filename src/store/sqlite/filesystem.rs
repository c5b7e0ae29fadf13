//! Can the file system be trusted with locks and fsync?

use std::path::Path;

use super::options::OpenError;

/// The kinds of file systems, as `statfs` numbers them, that are refused: their locks or their fsync are another machine's
/// promise, and SQLite's WAL needs memory that is shared on one machine.
const NETWORK: [(u32, &str); 12] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x5346_414F, "AFS"),
    (0x786F_4256, "VirtualBox's shared folders"),
];

/// The name of the network file system that has this number in `statfs`; none for others.
pub fn network_filesystem(kind: u32) -> Option<&'static str> {
    NETWORK.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

/// Refuses to open `path` if the folder it is in lies on a network file system.
pub(super) fn guard(path: &Path, kind: u32, allowed: bool) -> Result<(), OpenError> {
    match network_filesystem(kind) {
        Some(name) if !allowed => Err(OpenError::Refused {
            path: path.to_owned(),
            problem: format!(
                "it lies on a network file system ({name}), where SQLite can lose or damage it"
            ),
            way_out: "use a local disk, or allow network file systems if you know that this one keeps its locks and its \
                      fsync"
                .into(),
        }),
        Some(_) | None => Ok(()),
    }
}

/// The kind of file system that `folder` lies on.
pub(super) fn kind(folder: &Path) -> Result<u32, OpenError> {
    let stat = rustix::fs::statfs(folder)
        .map_err(|error| OpenError::Storage { path: folder.to_owned(), problem: error.to_string() })?;
    // The field's type differs between platforms; the kinds are 32-bit numbers on all of them.
    Ok(stat.f_type as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_need_the_override() {
        for (kind, name) in NETWORK {
            let refusal = guard(Path::new("/srv/x.db"), kind, false).unwrap_err().to_string();
            assert!(refusal.contains(name) && refusal.contains("/srv/x.db"), "{refusal}");
            assert!(guard(Path::new("/srv/x.db"), kind, true).is_ok());
        }
    }

    #[test]
    fn local_file_systems_pass() {
        for (kind, name) in
            [(0xEF53, "ext4"), (0x0102_1994, "tmpfs"), (0x9123_683E, "btrfs"), (0x5846_5342, "xfs")]
        {
            assert!(guard(Path::new("x.db"), kind, false).is_ok(), "{name}");
        }
    }
}

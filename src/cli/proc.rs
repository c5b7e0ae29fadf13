//! Files of `/proc`, read as Linux writes them.

/// What stands behind `name`, as in `VmHWM: 2048 kB`, in bytes.
pub(super) fn bytes_at(name: &str, text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

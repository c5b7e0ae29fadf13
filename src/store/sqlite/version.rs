//! May this SQLite be trusted with a WAL?
//!
//! Versions before 3.51.3 can lose committed transactions: a checkpoint that races with another connection's reset of the
//! WAL takes old frames for new ones. The repair was carried back to two older lines; 3.52.0 was withdrawn.

use super::options::OpenError;
use std::path::Path;

/// Whether `version`, as SQLite writes it in a number (3.51.3 is 3051003), has the repair.
pub const fn keeps_committed_work(version: i32) -> bool {
    match version {
        3_044_006..3_045_000 | 3_050_007..3_051_000 => true,
        3_052_000 => false,
        version => version >= 3_051_003,
    }
}

/// Refuses to open `path` with an SQLite that can lose committed work.
pub(super) fn guard(path: &Path, version: i32) -> Result<(), OpenError> {
    match keeps_committed_work(version) {
        true => Ok(()),
        false => Err(OpenError::Refused {
            path: path.to_owned(),
            problem: format!(
                "this program was built with SQLite {}.{}.{}, which can lose committed work in WAL mode \
                 (the WAL-reset bug, repaired in 3.51.3)",
                version / 1_000_000,
                version / 1_000 % 1_000,
                version % 1_000
            ),
            way_out: "build it with a newer one".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repaired_versions_pass() {
        let table = [
            (3_007_000, false),
            (3_044_005, false),
            (3_044_006, true),
            (3_044_009, true),
            (3_045_000, false),
            (3_049_999, false),
            (3_050_006, false),
            (3_050_007, true),
            (3_051_000, false),
            (3_051_002, false),
            (3_051_003, true),
            (3_052_000, false),
            (3_052_001, true),
            (3_054_001, true),
            (4_000_000, true),
        ];
        for (version, passes) in table {
            assert_eq!(keeps_committed_work(version), passes, "{version}");
            assert_eq!(guard(Path::new("x.db"), version).is_ok(), passes, "{version}");
        }
    }

    #[test]
    fn the_linked_version_passes() {
        assert!(keeps_committed_work(rusqlite::version_number()), "SQLite {}", rusqlite::version());
    }

    #[test]
    fn the_refusal_names_the_bug_and_the_version() {
        let refusal = guard(Path::new("x.db"), 3_050_004).unwrap_err().to_string();
        assert!(refusal.contains("3.50.4") && refusal.contains("WAL-reset"), "{refusal}");
    }
}

//! Would a server open this database? What is in it, whether it is whole, and who has it.

use std::path::Path;

use super::check::Check;
use crate::cli::exit::{Exit, Failure};
use crate::store::sqlite::examine::{self, Contents, LogEnd};
use crate::store::sqlite::{self, Holder, OpenError};

pub(super) fn sqlite_version() -> Check {
    const NAME: &str = "SQLite version";
    match examine::sqlite_version() {
        Ok(version) => Check::ok(NAME, format!("{version}, which is part of this program")),
        Err(refusal) => Check::problem(NAME, Exit::Config, refusal, "build this program with a newer one"),
    }
}

/// A server has the database.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    /// Its process, unless it has not said so yet.
    pub(super) pid: Option<u32>,
}

/// Who has the database, if anybody has.
pub(super) fn lock(path: &Path) -> (Check, Option<Held>) {
    const NAME: &str = "lock";
    match sqlite::holder(path) {
        Ok(None) => (Check::ok(NAME, "no server has the database"), None),
        Ok(Some(holder)) => {
            let found = format!("a server has the database: {holder}; all of this was read beside it");
            (Check::ok(NAME, found), Some(Held { pid: Holder::pid_in(&holder) }))
        }
        Err(error) => {
            let found = format!("the lock file of {} cannot be looked at: {error}", path.display());
            (Check::problem(NAME, Exit::Storage, found, "look at its permissions"), None)
        }
    }
}

/// What is in the file, and how far its log goes.
pub(super) fn look(path: &Path) -> (Vec<Check>, Option<LogEnd>) {
    const NAME: &str = "database";
    let shown = path.display();
    let contents = match examine::contents(path) {
        Ok(contents) => contents,
        Err(error) => {
            let to_do = match &error {
                OpenError::Refused { way_out, .. } => way_out.clone(),
                OpenError::Full { .. } => "make room, or move the database to a larger disk".into(),
                OpenError::Storage { .. } => {
                    "name another file; or, if this is the one, look at its disk and restore a backup".into()
                }
                OpenError::Locked { .. } | OpenError::DataLoss { .. } => {
                    "start `serve`, which says more".into()
                }
            };
            let Failure { exit, message } = error.into();
            let found = message.strip_suffix(&format!(": {to_do}")).unwrap_or(&message);
            return (vec![Check::problem(NAME, exit, found, to_do)], None);
        }
    };
    let database = match contents {
        Contents::Nothing => Check::ok(NAME, format!("there is none at {shown} yet; `serve` makes it")),
        Contents::Older => {
            let found = format!("{shown} was made by an older callonce");
            Check::warning(NAME, found, "make a backup: the next start brings it up to date for good")
        }
        Contents::Ours => Check::ok(NAME, format!("{shown} has the schema of this program, and all of it")),
    };
    let (head, end) = head_file(path, contents);
    (vec![database, head], end)
}

fn head_file(path: &Path, contents: Contents) -> (Check, Option<LogEnd>) {
    const NAME: &str = "head file";
    match examine::log_end(path, contents) {
        Ok(end) if contents == Contents::Nothing => {
            (Check::ok(NAME, "there is no log yet, and it tells of none"), Some(end))
        }
        Ok(end) => {
            let found = format!("nothing is missing: the log goes to position {}", end.position);
            (Check::ok(NAME, found), Some(end))
        }
        Err(error) => {
            let Failure { exit, message } = error.into();
            let to_do = "put the right file back, its -wal and -head too; if there is none, `serve --accept-data-loss` \
                         starts with what is there";
            (Check::problem(NAME, exit, message, to_do), None)
        }
    }
}

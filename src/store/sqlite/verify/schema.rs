//! Are the tables, indexes and triggers the ones that were made? Constraints and triggers are the second place at which
//! most laws are enforced, so one that was dropped or changed is a broken fact.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::domain::law::{Law, Violation};
use crate::store::sqlite::migrate;

/// A table, index or trigger that is not as this program makes it, or a trigger that it does not make.
pub(in crate::store::sqlite) struct Difference {
    /// What it is and its name.
    pub(in crate::store::sqlite) name: String,
    /// What is wrong with it.
    pub(in crate::store::sqlite) problem: &'static str,
    pub(in crate::store::sqlite) is_missing: bool,
    /// The statement that makes it; nothing if there should be none.
    sql: Option<String>,
}

impl Difference {
    pub(in crate::store::sqlite) fn is_table(&self) -> bool {
        self.name.starts_with("table ")
    }

    /// Whether it is the table that all others are made from.
    pub(in crate::store::sqlite) fn is_the_log(&self) -> bool {
        self.name == "table audit"
    }

    /// The statements that make it again; none for a table that was changed, for its rows would be lost.
    pub(in crate::store::sqlite) fn repair(&self) -> Option<String> {
        let dropped = || {
            let (kind, name) = self.name.split_once(' ').unwrap_or(("TRIGGER", &self.name));
            format!("DROP {kind} \"{}\";", name.replace('"', "\"\""))
        };
        match (&self.sql, self.is_missing) {
            (Some(sql), true) => Some(sql.clone()),
            (Some(_), false) if self.is_table() => None,
            (Some(sql), false) => Some(format!("{} {sql}", dropped())),
            (None, _) => Some(dropped()),
        }
    }
}

impl From<&Difference> for Violation {
    fn from(difference: &Difference) -> Self {
        Self::new(Law::LogIsTruth, format!("schema.{}", difference.name), difference.problem)
    }
}

/// What differs from the schema that this program makes; tables first, as the others need them. An index or a table more is
/// nobody's business, but a trigger more can change what is written.
pub(in crate::store::sqlite) fn differences(db: &Connection) -> rusqlite::Result<Vec<Difference>> {
    let (found, made) = (objects(db)?, made()?);
    let strange = found.keys().filter(|name| name.starts_with("trigger ") && !made.contains_key(*name));
    let strange = strange.map(|name| Difference {
        name: name.clone(),
        problem: "is none of this program's",
        is_missing: false,
        sql: None,
    });
    let mut differences: Vec<_> = strange.collect();
    let differs = |(name, sql): (String, String)| {
        let (is_missing, problem) = match found.get(&name) {
            Some(found) if *found == sql => return None,
            Some(_) => (false, "is not as it was made"),
            None => (true, "is missing"),
        };
        Some(Difference { name, problem, is_missing, sql: Some(sql) })
    };
    differences.extend(made.into_iter().filter_map(differs));
    differences.sort_by_key(|difference| !difference.is_table());
    Ok(differences)
}

/// Each object of the schema as this program makes it.
fn made() -> rusqlite::Result<BTreeMap<String, String>> {
    let empty = Connection::open_in_memory()?;
    migrate::make(&empty)?;
    objects(&empty)
}

/// Each table, index and trigger, and the statement that makes it.
fn objects(db: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut all = db.prepare("SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL")?;
    all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

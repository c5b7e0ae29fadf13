//! Are the tables, indexes and triggers the ones that were made? Constraints and triggers are the second place at which
//! most laws are enforced, so one that was dropped or changed is a broken fact.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::domain::law::{Law, Violation};
use crate::store::sqlite::migrate;

/// How the member begins that names a table.
pub(super) const TABLE: &str = "schema.table ";

/// What differs from the schema that this program makes. More than it makes is nobody's business.
pub(in crate::store::sqlite) fn check(db: &Connection) -> rusqlite::Result<Vec<Violation>> {
    let found = objects(db)?;
    let broken = made()?.into_iter().filter_map(|(name, sql)| {
        let problem = match found.get(&name) {
            Some(found) if *found == sql => return None,
            Some(_) => "is not as it was made",
            None => "is missing",
        };
        Some(Violation::new(Law::LogIsTruth, format!("schema.{name}"), problem))
    });
    Ok(broken.collect())
}

/// A part of the schema that is not as it was made, and can be made again.
pub(in crate::store::sqlite) struct Repair {
    /// What it is and its name.
    pub(in crate::store::sqlite) name: String,
    /// What is wrong with it.
    pub(in crate::store::sqlite) problem: &'static str,
    /// The statements that make it again.
    pub(in crate::store::sqlite) sql: String,
}

/// Tables, indexes and triggers that are missing, and indexes and triggers that were changed; tables first, as the others
/// need them. A table that was changed has rows, so it is nothing to be made again.
pub(in crate::store::sqlite) fn repairs(db: &Connection) -> rusqlite::Result<Vec<Repair>> {
    let found = objects(db)?;
    let mut repairs = Vec::new();
    for (name, sql) in made()? {
        let (problem, sql) = match found.get(&name) {
            None => ("is missing", sql),
            Some(found) if *found != sql && !name.starts_with("table ") => {
                ("is not as it was made", format!("DROP {name}; {sql}"))
            }
            Some(_) => continue,
        };
        repairs.push(Repair { name, problem, sql });
    }
    repairs.sort_by_key(|repair| !repair.name.starts_with("table "));
    Ok(repairs)
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

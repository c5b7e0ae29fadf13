//! Are the tables, indexes and triggers the ones that were made? Constraints and triggers are the second place at which
//! most laws are enforced, so one that was dropped or changed is a broken fact.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::domain::law::{Law, Violation};
use crate::store::sqlite::migrate;

/// How the member begins that names a table.
pub(super) const TABLE: &str = "schema.table ";

/// What differs from the schema that this program makes. More than it makes is nobody's business.
pub(super) fn check(db: &Connection) -> rusqlite::Result<Vec<Violation>> {
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

/// What is missing of the schema, by name, each with the statement that makes it.
pub(in crate::store::sqlite) fn missing(db: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let found = objects(db)?;
    Ok(made()?.into_iter().filter(|(name, _)| !found.contains_key(name)).collect())
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

//! The tables of `docs/state-machine.md`.

const PAGE: &str = include_str!("../../../docs/state-machine.md");

/// A table: its first header cell, the other header cells, and the rows with their first cell apart.
pub struct Table {
    pub name: String,
    pub columns: Vec<String>,
    pub rows: Vec<(String, Vec<String>)>,
}

/// All tables, in order.
pub fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    let mut lines = PAGE.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((name, columns)) = cells(line) else { continue };
        assert!(lines.next().is_some_and(|rule| rule.starts_with("|---")), "no rule below `{line}`");
        let mut rows = Vec::new();
        while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
            let row = cells(row).expect("it begins with a bar");
            assert_eq!(row.1.len(), columns.len(), "cells of the row `{}`", row.0);
            rows.push(row);
        }
        tables.push(Table { name, columns, rows });
    }
    tables
}

/// The table with this first header cell.
pub fn table(name: &str) -> Table {
    tables().into_iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table `{name}`"))
}

fn cells(line: &str) -> Option<(String, Vec<String>)> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = inner.split('|').map(|cell| cell.trim().to_string());
    Some((cells.next()?, cells.collect()))
}

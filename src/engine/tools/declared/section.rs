//! One table of the file, read field by field: what is missing, of the wrong kind or unknown is noted, with its line.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::Faults;
use super::written::{Written, shown};

/// A table and the fields it was asked for.
pub(super) struct Section<'t> {
    table: &'t DeTable<'t>,
    at: usize,
    path: String,
    asked: BTreeSet<&'t str>,
    faults: &'t Faults<'t>,
}

impl<'t> Section<'t> {
    pub(super) fn new(
        table: &'t DeTable<'t>,
        at: usize,
        path: impl Into<String>,
        faults: &'t Faults<'t>,
    ) -> Self {
        Self { table, at, path: path.into(), asked: BTreeSet::new(), faults }
    }

    /// Whether this field is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// The value of a field that may be left out.
    pub(super) fn get<T: Written>(&mut self, name: &'static str) -> Option<T> {
        let value = self.value(name)?;
        let read = T::read(value.get_ref());
        if read.is_none() {
            self.refuse(name, format!("expected {}, found {}", T::EXPECTED, shown(value.get_ref())));
        }
        read
    }

    /// The value of a field that has a default.
    pub(super) fn or<T: Written>(&mut self, name: &'static str, default: T) -> T {
        self.get(name).unwrap_or(default)
    }

    /// The value of a field that has to be there.
    pub(super) fn need<T: Written>(&mut self, name: &'static str) -> Option<T> {
        if !self.has(name) {
            self.asked.insert(name);
            self.refuse(name, format!("missing; expected {}", T::EXPECTED));
        }
        self.get(name)
    }

    /// A table inside this one.
    pub(super) fn section(&mut self, name: &'static str) -> Option<Section<'t>> {
        let value = self.value(name)?;
        let Some(table) = value.get_ref().as_table() else {
            self.refuse(name, format!("expected a table, found {}", shown(value.get_ref())));
            return None;
        };
        let at = value.span().start;
        Some(Section::new(table, at, format!("{}.{name}", self.path), self.faults))
    }

    /// A field that can have values of several kinds.
    pub(super) fn value(&mut self, name: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.asked.insert(name);
        self.table.get(name)
    }

    /// All fields, where their names are the user's own.
    pub(super) fn entries(&mut self) -> impl Iterator<Item = (&'t str, &'t DeValue<'t>)> + use<'t> {
        let table: &'t DeTable<'t> = self.table;
        self.asked.extend(table.keys().map(|name| name.get_ref().as_ref()));
        table.iter().map(|(name, value)| (name.get_ref().as_ref(), value.get_ref()))
    }

    /// Notes what is wrong with a field of this table, or with the table if it has none of that name.
    pub(super) fn refuse(&self, name: &str, problem: impl Into<String>) {
        let at = self.table.get_key_value(name).map_or(self.at, |(key, _)| key.span().start);
        self.faults.note(at, &format!("{}.{name}", self.path), problem);
    }

    /// Notes what is wrong with this table as a whole.
    pub(super) fn refuse_itself(&self, problem: impl Into<String>) {
        self.faults.note(self.at, &self.path, problem);
    }

    /// Notes every field that nobody has asked for.
    pub(super) fn close(self) {
        for (name, _) in self.table {
            if !self.asked.contains(name.get_ref().as_ref()) {
                let known: Vec<_> = self.asked.iter().copied().collect();
                self.refuse(name.get_ref(), format!("unknown; expected one of {}", known.join(", ")));
            }
        }
    }
}

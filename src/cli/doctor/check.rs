//! One thing that was looked at: how it is, what was found, and what to do about it.

use serde::Serialize;
use serde_json::Value;

use crate::cli::exit::Exit;

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// As it should be.
    Ok,
    /// A server runs, but not as well, or not as safely, as it could.
    Warning,
    /// A server would not start, or would lose what it promises; exits with this.
    Problem(Exit),
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem(_) => "problem",
        }
    }
}

/// One check.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) state: State,
    pub(super) found: String,
    pub(super) to_do: Option<String>,
    /// What was measured, for programs.
    pub(super) figures: Option<Value>,
}

/// A check as it is shown.
#[derive(Serialize)]
pub(super) struct View<'a> {
    check: &'static str,
    state: &'static str,
    found: &'a str,
    to_do: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<&'a Value>,
}

/// The columns for people.
pub(super) const COLUMNS: [&str; 4] = ["check", "state", "found", "to_do"];

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, state: State::Ok, found: found.into(), to_do: None, figures: None }
    }

    pub(super) fn warning(name: &'static str, found: impl Into<String>, to_do: impl Into<String>) -> Self {
        Self { state: State::Warning, to_do: Some(to_do.into()), ..Self::ok(name, found) }
    }

    pub(super) fn problem(
        name: &'static str,
        exit: Exit,
        found: impl Into<String>,
        to_do: impl Into<String>,
    ) -> Self {
        Self { state: State::Problem(exit), to_do: Some(to_do.into()), ..Self::ok(name, found) }
    }

    pub(super) fn with(mut self, figures: Value) -> Self {
        self.figures = Some(figures);
        self
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            check: self.name,
            state: self.state.name(),
            found: &self.found,
            to_do: self.to_do.as_deref(),
            figures: self.figures.as_ref(),
        }
    }
}

/// Bytes as people read them.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        for (bytes, shown) in [
            (0, "0.0 KiB"),
            (1536, "1.5 KiB"),
            (1 << 20, "1.0 MiB"),
            (5 << 29, "2.5 GiB"),
            (1 << 42, "4.0 TiB"),
            (1 << 53, "8192.0 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}

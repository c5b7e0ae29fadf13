//! A setting that a tool cannot be set up with.

/// Which setting it is, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct Unfit {
    /// The setting, by the name it has in a file of tools.
    pub setting: &'static str,
    /// What was expected, and what was found; of a secret, never its value.
    pub problem: String,
}

impl Unfit {
    pub(super) fn new(setting: &'static str, problem: impl Into<String>) -> Self {
        Self { setting, problem: problem.into() }
    }
}

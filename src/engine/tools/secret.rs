//! A text that a tool needs and nobody else may see.

use std::fmt;

/// The value of a header or of an environment variable. However it is printed, it reads `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text out of sight.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one who has to send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_only_to_those_who_ask_for_it() {
        let secret = Secret::new("hunter2".into());
        assert_eq!((format!("{secret}"), format!("{secret:?}")), ("***".into(), "***".into()));
        assert_eq!(secret.expose(), "hunter2");
    }
}

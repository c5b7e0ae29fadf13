//! Values made in code rather than parsed.

use super::canonical::in_order;
use super::{Number, Value};

impl Value {
    /// An object with these members; of two with one name, the last one counts.
    pub fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        let members: Vec<_> = members.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        Self::Object(in_order(&members).into_iter().cloned().collect())
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Number(Number::from(integer))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

//! What can stand on the right of a field, and what a reader is told who finds something else there.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use toml::de::{DeInteger, DeValue};

use crate::domain::policy::Interrupted;
use crate::engine::duration;
use crate::engine::tools::Backoff;

/// A kind of value.
pub(super) trait Written: Sized {
    /// What it looks like, for messages.
    const EXPECTED: &'static str;

    fn read(value: &DeValue<'_>) -> Option<Self>;
}

impl Written for String {
    const EXPECTED: &'static str = "a text";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Written for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_bool()
    }
}

impl Written for Vec<String> {
    const EXPECTED: &'static str = "a list of texts";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        value.as_array()?.iter().map(|item| String::read(item.get_ref())).collect()
    }
}

impl Written for Duration {
    const EXPECTED: &'static str = "a time with a unit, as in \"30s\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        duration::parse(value.as_str()?).ok()
    }
}

impl Written for Backoff {
    const EXPECTED: &'static str = "the shortest and the longest wait, as in \"1s..60s\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let (base, cap) = value.as_str()?.split_once("..")?;
        let (base, cap) = (duration::parse(base).ok()?, duration::parse(cap).ok()?);
        (base <= cap).then_some(Self { base, cap })
    }
}

impl Written for NonZeroU32 {
    const EXPECTED: &'static str = "a number from 1 to 4294967295";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        Self::new(number(value.as_integer()?)?)
    }
}

/// How many attempts run side by side.
impl Written for NonZeroUsize {
    const EXPECTED: &'static str = "a number from 1 to 10000";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let most = |count: &Self| count.get() <= 10_000;
        Self::new(number(value.as_integer()?)?).filter(most)
    }
}

/// A size in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes(pub(super) usize);

impl Written for Bytes {
    const EXPECTED: &'static str = "a number of bytes from 1 to 1048576";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let bytes = number(value.as_integer()?)?;
        (1..=super::LARGEST_ANSWER).contains(&bytes).then_some(Self(bytes))
    }
}

/// Statuses or exit codes: numbers, and texts as in `"4xx"`.
#[derive(Debug, Default)]
pub(super) struct Codes(pub(super) Vec<String>);

impl Written for Codes {
    const EXPECTED: &'static str = "a list of codes, as in [409, \"5xx\"]";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        let code = |item: &DeValue<'_>| match item {
            DeValue::Integer(code) => number::<u16>(code).map(|code| code.to_string()),
            DeValue::String(code) => Some(code.to_string()),
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        value.as_array()?.iter().map(|item| code(item.get_ref())).collect::<Option<_>>().map(Self)
    }
}

impl Written for Interrupted {
    const EXPECTED: &'static str = "\"replay\", \"probe\" or \"hold\"";

    fn read(value: &DeValue<'_>) -> Option<Self> {
        match value.as_str()? {
            "replay" => Some(Self::Replay),
            "probe" => Some(Self::Probe),
            "hold" => Some(Self::Hold),
            _ => None,
        }
    }
}

pub(super) fn number<T: TryFrom<i64>>(integer: &DeInteger<'_>) -> Option<T> {
    i64::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(|value| T::try_from(value).ok())
}

/// A value as a message shows it: short, and of a table, where secrets can be, only that it is one.
pub(super) fn shown(value: &DeValue<'_>) -> String {
    const MAX_SHOWN: usize = 40;
    match value {
        DeValue::String(text) => match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("{:?}…", &text[..end]),
            None => format!("{text:?}"),
        },
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

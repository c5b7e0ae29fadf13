//! What was typed → what it means. Every refusal names the option and says what it takes.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

/// A duration with a unit: `30s`, `250ms`, `1m30s`. Zero and bare numbers are refused.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let help = "a duration takes a unit, as in 30s, 250ms or 2m";
    if text.trim().starts_with('-') {
        return Err(format!("it is negative; {help}"));
    }
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err(format!("it is zero; {help}")),
        Ok(duration) if duration > LONGEST => Err("it is longer than 10 years".into()),
        Ok(duration) => Ok(duration),
        Err(problem) => Err(format!("{problem}; {help}")),
    }
}

/// A number of tools that may run at once.
pub(super) fn workers(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(workers) if workers.get() <= MOST_WORKERS => Ok(workers),
        Ok(_) | Err(_) => Err(format!("it is a number from 1 to {MOST_WORKERS}")),
    }
}

/// A size of the page cache, in MiB.
pub(super) fn page_cache(text: &str) -> Result<NonZeroU32, String> {
    match text.parse::<NonZeroU32>() {
        Ok(mib) if mib.get() <= LARGEST_PAGE_CACHE => Ok(mib),
        Ok(_) | Err(_) => Err(format!("it is a number of MiB from 1 to {LARGEST_PAGE_CACHE}")),
    }
}

/// Beyond a tebibyte a page cache is a typing error.
const LARGEST_PAGE_CACHE: u32 = 1 << 20;

/// Beyond this a number of workers is a typing error: each may hold a connection of its tool.
const MOST_WORKERS: usize = 10_000;

/// Beyond this a duration is a typing error, and adding it to an instant could overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_a_unit() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        for nonsense in [
            "",
            "30",
            "0",
            "0s",
            "-1s",
            "s",
            "1 fortnight",
            "NaNs",
            "1e400s",
            "99999999999999999999s",
            "1000years",
        ] {
            let refusal = duration(nonsense).expect_err(nonsense);
            assert!(!refusal.is_empty(), "{nonsense}");
        }
    }
}

//! Durations as people write them: `30s`, `250ms`, `1m30s`.

use std::time::Duration;

/// Beyond this a duration is a typing error, and adding it to an instant could overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Reads a duration with a unit.
///
/// # Errors
/// Says what is wrong with zero, a negative or a bare number, more than ten years, and what is no duration at all.
pub fn parse(text: &str) -> Result<Duration, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_a_unit() {
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse("1m 30s"), Ok(Duration::from_secs(90)));
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
            let refusal = parse(nonsense).expect_err(nonsense);
            assert!(!refusal.is_empty(), "{nonsense}");
        }
    }
}

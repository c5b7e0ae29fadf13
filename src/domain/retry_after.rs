//! How long a server that has no time asks to be left alone.

use std::time::Duration;

use super::time::Timestamp;

/// What a `Retry-After` asks for, in either of its forms: seconds, or an HTTP date. None if it is neither.
pub fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds are still a very long time.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    // A date that has passed asks for no wait.
    Some(date.duration_since(now.into()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const NOW: Timestamp = Timestamp::from_micros(784_111_777_000_000);

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let seconds = |n| Some(Duration::from_secs(n));
        for (text, expected) in [
            ("0", seconds(0)),
            ("5", seconds(5)),
            (" 120 ", seconds(120)),
            ("99999999999999999999999", seconds(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", seconds(3)),
            ("Sunday, 06-Nov-94 08:49:40 GMT", seconds(3)),
            ("Sun Nov  6 08:49:40 1994", seconds(3)),
            ("Sun, 06 Nov 1994 08:49:30 GMT", seconds(0)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("1994-11-06T08:49:40Z", None),
        ] {
            assert_eq!(retry_after(text, NOW), expected, "{text}");
        }
    }
}

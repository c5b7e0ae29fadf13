//! How the latencies are spread, as bars of text.

use hdrhistogram::Histogram;

/// The width of the longest bar, in characters.
const WIDTH: usize = 40;
/// Parts of a character, so that a short bar still says something.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One line for each range of latencies, from the lowest that occurs to the highest; the ranges grow as 1, 2, 5, 10.
pub(super) fn lines(micros: &Histogram<u64>) -> Vec<String> {
    if micros.is_empty() {
        return Vec::new();
    }
    let mut ranges: Vec<(u64, u64, u64)> = Vec::new();
    let mut low = 0;
    for high in ends() {
        ranges.push((low, high, 0));
        if high >= micros.max() {
            break;
        }
        low = high;
    }
    for recorded in micros.iter_recorded() {
        let micros = recorded.value_iterated_to();
        // The highest latency is kept rounded up, but never out of the last range, whose end lies above it.
        if let Some((_, _, count)) = ranges.iter_mut().find(|(_, high, _)| micros <= *high) {
            *count += recorded.count_since_last_iteration();
        }
    }
    let first = ranges.iter().position(|(_, _, count)| *count > 0).unwrap_or(0);
    let most = ranges.iter().map(|(_, _, count)| *count).max().unwrap_or(1).max(1);
    ranges[first..]
        .iter()
        .map(|(low, high, count)| {
            let share = 100.0 * *count as f64 / micros.len() as f64;
            let ends = format!("{:>7} – {:<7}", time(*low), time(*high));
            format!("{ends} {share:>5.1} %  {}", bar(*count, most)).trim_end().to_owned()
        })
        .collect()
}

/// 10, 20, 50, 100, … microseconds, up to the largest latency that can be kept.
fn ends() -> impl Iterator<Item = u64> {
    (1..19).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.saturating_pow(power)))
}

fn bar(count: u64, most: u64) -> String {
    let eighths = (u128::from(count) * (8 * WIDTH) as u128).div_ceil(u128::from(most));
    let eighths = usize::try_from(eighths).unwrap_or(8 * WIDTH);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A round number of microseconds, in the unit that keeps it short.
fn time(micros: u64) -> String {
    match micros {
        0 => "0".into(),
        1..1000 => format!("{micros} µs"),
        1000..1_000_000 => format!("{} ms", micros / 1000),
        _ => format!("{} s", micros / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_each_range_from_the_first_to_the_last() {
        let mut micros = Histogram::new(3).expect("three digits");
        for (latency, count) in [(150, 1), (200, 99), (600, 1), (30_000, 50)] {
            micros.record_n(latency, count).expect("it fits");
        }
        let widest = "█".repeat(WIDTH);
        let half = "█".repeat(WIDTH / 2);
        let expected = [
            format!(" 100 µs – 200 µs   66.2 %  {widest}"),
            " 200 µs – 500 µs    0.0 %".into(),
            // A hundredth of 320 eighths is 3.2; what is there at all is rounded up, so that it shows.
            " 500 µs – 1 ms      0.7 %  ▌".into(),
            "   1 ms – 2 ms      0.0 %".into(),
            "   2 ms – 5 ms      0.0 %".into(),
            "   5 ms – 10 ms     0.0 %".into(),
            "  10 ms – 20 ms     0.0 %".into(),
            format!("  20 ms – 50 ms    33.1 %  {half}"),
        ];
        assert_eq!(lines(&micros), expected);
    }

    #[test]
    fn nothing_measured_is_no_bar() {
        assert!(lines(&Histogram::new(3).expect("three digits")).is_empty());
    }
}

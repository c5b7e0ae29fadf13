//! What a process has used, as Linux tells it: processor time and memory.

use std::time::Duration;

use crate::cli::proc::bytes_at;

/// What a process has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    /// In user and system mode, all threads together.
    pub(super) cpu: Duration,
    /// The most memory it held at one time.
    pub(super) peak_rss_bytes: u64,
}

impl Usage {
    /// Of the process with this id; nothing where there is no `/proc`, or no such process.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
        let ticks = rustix::param::clock_ticks_per_second();
        Some(Self { cpu: cpu(&read("stat")?, ticks)?, peak_rss_bytes: peak_rss(&read("status")?)? })
    }
}

/// The 14th and 15th field. Counted from the last `)`, because the name of a program may hold anything.
fn cpu(stat: &str, ticks_per_second: u64) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_secs_f64((user + system) as f64 / ticks_per_second as f64))
}

fn peak_rss(status: &str) -> Option<u64> {
    bytes_at("VmHWM:", status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_any_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194304 500 0 0 0 150 50 0 0 20 0 4 0 100 1 2";
        assert_eq!(cpu(stat, 100), Some(Duration::from_secs(2)));
        assert_eq!(cpu("7 (a) S 1", 100), None);
        assert_eq!(peak_rss("Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2 * 1024 * 1024));
        assert_eq!(peak_rss("Name:\ta\n"), None);
    }

    #[test]
    fn this_process_has_used_something() {
        let usage = Usage::of(std::process::id()).expect("Linux tells it");
        assert!(usage.peak_rss_bytes > 0);
    }
}

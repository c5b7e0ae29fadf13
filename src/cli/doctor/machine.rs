//! What does the machine give one process? Open files, and memory.

use rustix::process::{Resource, getrlimit};
use serde_json::json;

use super::check::{Check, size};
use crate::cli::exit::Exit;
use crate::cli::proc::bytes_at;
use crate::http::limits::{BODY_MEMORY_BYTES, MAX_CONNECTIONS, MAX_REFUSALS};

/// Files beside connections: the database's own, several times over, the log, timers.
const OTHER_FILES: u64 = 64;

pub(super) fn open_files() -> Check {
    // A server raises its own limit to the hard one.
    judge_files(getrlimit(Resource::Nofile).maximum)
}

fn judge_files(limit: Option<u64>) -> Check {
    const NAME: &str = "open files";
    let wanted = (MAX_CONNECTIONS + MAX_REFUSALS) as u64 + OTHER_FILES;
    let to_do = format!("raise the hard limit to {wanted} (ulimit -Hn, LimitNOFILE= in systemd)");
    let figures = json!({ "hard_limit": limit, "wanted": wanted });
    let check = match limit {
        None => Check::ok(NAME, "there is no limit"),
        Some(limit) if limit >= wanted => {
            Check::ok(NAME, format!("the limit is {limit}, enough for {MAX_CONNECTIONS} connections"))
        }
        Some(limit) if limit <= OTHER_FILES => Check::problem(
            NAME,
            Exit::Config,
            format!("the limit is {limit}, too little to start with"),
            to_do,
        ),
        Some(limit) => {
            let connections = limit - OTHER_FILES;
            let found = format!("the limit is {limit}: beyond some {connections} connections, new ones wait");
            Check::warning(NAME, found, to_do)
        }
    };
    check.with(figures)
}

/// What a server holds at rest, with all its connections: below this it does not get far.
const LEAST_MEMORY: u64 = 64 << 20;
/// What a server under load holds, bodies aside.
const USUAL_MEMORY: u64 = 256 << 20;

pub(super) fn memory() -> Check {
    let read = |file: &str| std::fs::read_to_string(file).ok();
    let machine = read("/proc/meminfo").and_then(|text| available(&text));
    let group = read("/proc/self/cgroup").and_then(|text| {
        let path = format!("/sys/fs/cgroup{}", text.lines().find_map(|line| line.strip_prefix("0::"))?);
        let number = |file: &str| read(&format!("{path}/{file}"))?.trim().parse::<u64>().ok();
        let cached = read(&format!("{path}/memory.stat")).map_or(0, |stat| reclaimable(&stat));
        Some(number("memory.max")?.saturating_sub(number("memory.current")?.saturating_sub(cached)))
    });
    judge_memory(machine.into_iter().chain(group).min())
}

fn judge_memory(available: Option<u64>) -> Check {
    const NAME: &str = "memory";
    let wanted = USUAL_MEMORY + BODY_MEMORY_BYTES as u64;
    let to_do =
        format!("give it {}: large bodies that arrive at one time may take half of that", size(wanted));
    let Some(available) = available else { return Check::ok(NAME, "this system does not tell it") };
    let found = format!("{} are available", size(available));
    let check = match available {
        ..LEAST_MEMORY => Check::problem(NAME, Exit::Config, found, to_do),
        available if available < wanted => Check::warning(NAME, found, to_do),
        _ => Check::ok(NAME, found),
    };
    check.with(json!({ "available_bytes": available, "wanted_bytes": wanted }))
}

fn available(meminfo: &str) -> Option<u64> {
    bytes_at("MemAvailable:", meminfo)
}

/// What a control group holds of files that nobody has read again: the kernel gives it back when it is needed.
fn reclaimable(stat: &str) -> u64 {
    let bytes = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse().ok());
    bytes.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::State;

    #[test]
    fn a_low_limit_is_told_for_what_it_costs() {
        for (limit, state) in [
            (None, State::Ok),
            (Some(1_048_576), State::Ok),
            (Some(1024), State::Warning),
            (Some(OTHER_FILES), State::Problem(Exit::Config)),
        ] {
            assert_eq!(judge_files(limit).state, state, "{limit:?}");
        }
        for (available, state) in [
            (None, State::Ok),
            (Some(8 << 30), State::Ok),
            (Some(300 << 20), State::Warning),
            (Some(LEAST_MEMORY - 1), State::Problem(Exit::Config)),
        ] {
            assert_eq!(judge_memory(available).state, state, "{available:?}");
        }
        assert_eq!(reclaimable("anon 4096\ninactive_anon 1\ninactive_file 8192\n"), 8192);
        assert_eq!(reclaimable("anon 4096\n"), 0);
        assert_eq!(available("MemFree: 1 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
    }
}

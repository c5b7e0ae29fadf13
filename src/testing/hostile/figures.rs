//! What bad clients cost the others, in figures: quiet and disturbed minutes are measured in turn, so that what else the machine
//! does falls on both.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::crowd::{Crowd, Sizes};
use super::load;
use crate::engine::clock::Stopwatch;
use crate::engine::ids;
use crate::testing::raw_http::{Connection, request};

/// What can go wrong on the way to a figure.
type Failure = Box<dyn Error>;

/// The crowd that the server is meant to carry.
const CROWD: Sizes = Sizes { idle: 10_000, half_heads: 200, half_bodies: 50, slow_readers: 50 };
/// Quiet and disturbed in turn, so often.
const ROUNDS: usize = 5;
/// Normal clients, each with one request at a time.
const CLIENTS: usize = 4;
/// Requests of each in one measurement.
const EACH: usize = 500;
/// Normal use is measured so often after a flood.
const AFTER: usize = 8;
/// When to give up waiting for the server's side.
const ABSURD: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Normal clients beside a crowd, and without it.
///
/// # Errors
/// If the server does not answer as it should, or cannot be looked at.
pub fn crowd(address: SocketAddr, pid: u32) -> Result<(), Failure> {
    raise_file_limit();
    let note = "x".repeat(20_000);
    let large = format!(r#"{{"tool":"sleep","args":{{"note":"{note}"}}}}"#);
    let mut connection = Connection::open(address);
    for _ in 0..100 {
        post(&mut connection, &large)?;
    }
    drop(connection);
    let files = open_files(pid)?;
    say(&format!("{CROWD:?}; {CLIENTS} normal clients, {EACH} POSTs each, in ms"))?;
    for round in 1..=ROUNDS {
        let quiet = normal(address, EACH)?;
        let watch = Stopwatch::start();
        let crowd = Crowd::gather(address, CROWD)?;
        until("the crowd is there", || Ok(crowd.there() >= CROWD.total() * 99 / 100))?;
        let gathered = watch.elapsed();
        let disturbed = normal(address, EACH)?;
        let (there, rss) = (crowd.there(), status(pid, "VmRSS:")?);
        drop(crowd);
        until("the crowd has gone", || Ok(open_files(pid)? < files + 100))?;
        let ratio = disturbed.value_at_quantile(0.99) as f64 / quiet.value_at_quantile(0.99) as f64;
        say(&format!(
            "round {round}: quiet {}; beside {there} (gathered in {gathered:.1?}) {}; p99 {ratio:.2} times; RSS {} MB",
            told(&quiet),
            told(&disturbed),
            rss / 1024
        ))?;
    }
    say(&format!("peak RSS {} MB", status(pid, "VmHWM:")? / 1024))
}

/// A flood of ten times what the server can take, what it takes of it, and how soon it is as before.
///
/// # Errors
/// If the server does not answer as it should, or cannot be looked at.
pub fn flood(address: SocketAddr, pid: u32, connections: usize) -> Result<(), Failure> {
    raise_file_limit();
    for round in 1..=ROUNDS {
        let quiet = normal(address, EACH)?;
        let peak = flooded(address, 1_000_000, 64, "peak")?;
        settled(address)?;
        let goodput = flooded(address, (peak * 10.0) as u64, connections, "10 times")?;
        let since = Stopwatch::start();
        let mut after = Vec::new();
        for _ in 0..AFTER {
            let one = normal(address, EACH / 5)?;
            after.push(format!("{:.1?}: {}", since.elapsed(), told(&one)));
        }
        say(&format!(
            "round {round}: goodput {:.0} % of peak; quiet {}; after {}; peak RSS {} MB",
            goodput / peak * 100.0,
            told(&quiet),
            after.join(", "),
            status(pid, "VmHWM:")? / 1024
        ))?;
        settled(address)?;
    }
    Ok(())
}

/// A load without manners; how many calls a second were accepted.
fn flooded(address: SocketAddr, rate: u64, connections: usize, name: &str) -> Result<f64, Failure> {
    use std::sync::atomic::Ordering::Relaxed;
    let (outcome, time) = load::run(address, rate, connections, Duration::from_secs(5))?;
    let per_second = |count: u64| count as f64 / time.as_secs_f64();
    let accepted = per_second(outcome.accepted.load(Relaxed));
    say(&format!(
        "  {name}: {rate} a second asked for over {connections} connections; a second: sent {:.0}, accepted {accepted:.0}, \
         refused with Retry-After {:.0}; answered otherwise {}, broken {}",
        per_second(outcome.sent.load(Relaxed)),
        per_second(outcome.refused.load(Relaxed)),
        outcome.other.load(Relaxed),
        outcome.broken.load(Relaxed)
    ))?;
    Ok(accepted)
}

/// Waits until nothing is under way.
fn settled(address: SocketAddr) -> Result<(), Failure> {
    until("all calls have settled", || {
        let answer = Connection::open(address).exchange(request("GET", "/stats", &[], b""));
        let open =
            ["pending", "running"].map(|status| answer.json()["by_status"][status].as_u64().unwrap_or(0));
        Ok(open == [0, 0])
    })
}

/// How long the answers take that normal clients get, in microseconds.
fn normal(address: SocketAddr, each: usize) -> Result<Histogram<u64>, Failure> {
    let mut all = Histogram::new(3)?;
    let parts: Vec<_> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(move || client(address, each))).collect();
        clients.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    for part in parts {
        let micros =
            part.map_err(|_| "a normal client panicked")?.map_err(|refusal| -> Failure { refusal.into() })?;
        for micros in micros {
            all.record(micros)?;
        }
    }
    Ok(all)
}

fn client(address: SocketAddr, each: usize) -> Result<Vec<u64>, String> {
    let mut connection = Connection::open(address);
    let mut all = Vec::with_capacity(each);
    for _ in 0..each {
        let watch = Stopwatch::start();
        post(&mut connection, r#"{"tool":"charge","args":{"amount":1}}"#)?;
        all.push(u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    Ok(all)
}

fn post(connection: &mut Connection, body: &str) -> Result<(), String> {
    let key = format!("Idempotency-Key: {}", ids::key());
    let headers = [key.as_str(), "Content-Type: application/json"];
    let answer = connection.exchange(request("POST", "/v1/tool-calls", &headers, body.as_bytes()));
    if answer.status == 202 { Ok(()) } else { Err(format!("a normal client was answered {answer:?}")) }
}

fn told(micros: &Histogram<u64>) -> String {
    let millis = |quantile| micros.value_at_quantile(quantile) as f64 / 1e3;
    format!("p50 {:.2} p99 {:.2}", millis(0.5), millis(0.99))
}

fn until(fact: &str, mut holds: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    while !holds()? {
        if watch.elapsed() > ABSURD {
            return Err(format!("waited in vain: {fact}").into());
        }
        std::thread::park_timeout(PAUSE);
    }
    Ok(())
}

/// How many files a process has open.
///
/// # Errors
/// If there is no such process.
pub fn open_files(pid: u32) -> std::io::Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

/// A line of what Linux tells of a process, as `VmRSS:`, in KiB.
///
/// # Errors
/// If there is no such process, or no such line.
pub fn status(pid: u32, line: &str) -> std::io::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let found =
        text.lines().find_map(|known| known.strip_prefix(line)?.trim().strip_suffix(" kB")?.parse().ok());
    found.ok_or_else(|| std::io::Error::other(format!("no {line} for process {pid}")))
}

/// A connection is a file, on this side too. Returns how many this process may have.
pub fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, there are fewer.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn say(line: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

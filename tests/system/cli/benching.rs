//! `bench`: every pattern of keys against a real server, and its check against servers that break their promise.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callonce::engine::clock::Stopwatch;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::harness::{Done, Home, Listener, PROGRAM, callonce, callonce_with, until};

/// A load on a server of its own, whose database lies in the home's folder for that time.
fn bench(home: &Home, rest: &[&str]) -> Done {
    let folder = home.folder().to_str().expect("a temporary folder has a plain name");
    callonce(&[&["bench", "--dir", folder, "--output", "json", "--concurrency", "4"], rest].concat())
}

fn bench_on(base: &str, rest: &[&str]) -> Done {
    callonce(&[&["bench", "--base", base, "--output", "json", "--concurrency", "4"], rest].concat())
}

/// How long a server that stalls holds its first answer.
const STALL: Duration = Duration::from_secs(1);

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("it can be listed").next().is_none()
}

#[test]
fn each_pattern_of_keys_makes_as_many_calls_and_effects_as_keys() {
    for (rest, calls, replayed) in [
        (&["--keys", "distinct"][..], 200, 0),
        (&["--keys", "same"], 1, 199),
        (&["--keys", "mixed", "--repeat", "0.25"], 150, 50),
        (&["--keys", "hot", "--hot", "5"], 5, 195),
        (&["--rate", "4000"], 200, 0),
        (&["--rate", "4000", "--keys", "hot"], 16, 184),
        (&["--wait"], 200, 0),
        (&["--warm-up", "40"], 200, 0),
        // The warm-up takes the one key already: what is measured are only its replays.
        (&["--warm-up", "40", "--keys", "same"], 0, 200),
    ] {
        let home = Home::new();
        let done = bench(&home, &[&["--count", "200"], rest].concat());
        assert_eq!(done.code, Some(0), "{rest:?} {done:?}");
        let report = done.json();
        assert_eq!(report["requests"]["accepted"], 200, "{rest:?} {report}");
        assert_eq!(report["requests"]["replayed"], replayed, "{rest:?} {report}");
        for member in ["keys", "calls", "completed", "succeeded", "effects"] {
            assert_eq!(report["calls"][member], calls, "{rest:?} {member} {report}");
        }
        let attempts = if calls == 0 { json!({}) } else { json!({"1": calls}) };
        assert_eq!(report["calls"]["attempts"], attempts, "{rest:?}");
        assert_eq!(report["effects_equal_calls"], true, "{rest:?}");
        assert!(is_empty(home.folder()), "{rest:?}");
    }
}

#[test]
fn the_report_has_a_shape_that_programs_can_read() {
    let home = Home::new();
    let report = bench(&home, &["--count", "50", "--keys", "mixed"]).json();
    let names = |value: &Value| -> Vec<String> {
        value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().cloned().collect()
    };
    for (part, members) in [
        (
            "setting",
            &[
                "base",
                "own_server",
                "in_memory",
                "tool",
                "keys",
                "repeat",
                "hot",
                "concurrency",
                "count",
                "duration_seconds",
                "rate",
                "wait",
            ][..],
        ),
        (
            "requests",
            &[
                "accepted",
                "replayed",
                "seconds",
                "accepted_per_second",
                "unsettled",
                "unsent",
                "unknown",
                "retries",
                "errors",
            ],
        ),
        ("latency_ms", &["p50", "p95", "p99", "p99.9", "max"]),
        (
            "calls",
            &[
                "keys",
                "calls",
                "completed",
                "seconds",
                "completed_per_second",
                "succeeded",
                "failed",
                "held",
                "open",
                "effects",
                "attempts",
            ],
        ),
        ("server", &["cpu_us_per_call", "cpu_us_per_request", "peak_rss_bytes"]),
        ("client", &["cpu_us_per_request"]),
    ] {
        assert_eq!(names(&report[part]), members, "{part}");
    }
    let parts =
        ["setting", "requests", "latency_ms", "calls", "server", "client", "effects_equal_calls", "broken"];
    assert_eq!(names(&report), parts);
    // Each latency is at least the one before, and none is nothing.
    let latencies: Vec<f64> = ["p50", "p95", "p99", "p99.9", "max"]
        .map(|name| report["latency_ms"][name].as_f64().unwrap_or_default())
        .into();
    assert!(latencies[0] > 0.0 && latencies.is_sorted(), "{latencies:?}");
    for (part, member) in
        [("requests", "accepted_per_second"), ("calls", "completed_per_second"), ("server", "peak_rss_bytes")]
    {
        assert!(report[part][member].as_f64() > Some(0.0), "{part} {member} {report}");
    }
    assert_eq!((&report["setting"]["keys"], &report["setting"]["repeat"]), (&json!("mixed"), &json!(0.2)));
}

#[test]
fn people_get_a_table_and_the_spread_of_the_latencies() {
    let home = Home::new();
    let folder = home.folder().to_str().expect("a plain name");
    let done = callonce(&["bench", "--dir", folder, "--count", "50"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for part in [
        "accepted",
        "50 requests in",
        "completed",
        "50 calls in",
        "p99.9",
        "attempts",
        "1: 50",
        "server used",
        "client used",
        "50 keys sent, 50 calls, 50 succeeded, 50 effects: nothing doubled, nothing lost",
        "█",
    ] {
        assert!(done.stdout.contains(part), "no `{part}` in {}", done.stdout);
    }
    assert!(done.stderr.contains("its own server, process "), "{done:?}");
}

#[test]
fn a_server_that_runs_keeps_the_calls_and_only_their_growth_is_told() {
    let home = Home::new();
    let server = home.serve();
    let base = format!("http://{}", server.address);
    server.client().settle("before", r#"{"tool":"charge","args":{"amount":100}}"#);
    let done = bench_on(&base, &["--count", "30"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let report = done.json();
    assert_eq!(report["calls"]["calls"], 30, "{report}");
    assert_eq!(report["server"]["peak_rss_bytes"], Value::Null, "{report}");
    assert_eq!(server.client().stats()["effects"], 31);
    home.db().keeps_the_laws();
}

#[test]
fn a_load_of_a_certain_time_ends_and_other_tools_are_judged_by_their_own_terms() {
    let home = Home::new();
    let report = bench(&home, &["--duration", "100ms", "--warm-up", "10ms"]).json();
    assert!(report["requests"]["accepted"].as_u64() > Some(0), "{report}");
    assert_eq!(report["calls"]["effects"], report["calls"]["calls"], "{report}");

    let report = bench(&home, &["--count", "20", "--tool", "sleep", "--args", "{}"]);
    assert_eq!((report.code, &report.json()["calls"]["effects"]), (Some(0), &json!(0)), "{report:?}");
    let failing = bench(&home, &["--count", "20", "--tool", "fail", "--args", "{}"]);
    assert_eq!((failing.code, &failing.json()["calls"]["failed"]), (Some(1), &json!(20)), "{failing:?}");
    let refused = bench(&home, &["--count", "20", "--args", r#"{"amount":"1"}"#]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("args.amount"), "{refused:?}");
    assert!(is_empty(home.folder()));
}

#[test]
fn the_environment_of_other_commands_does_not_lead_the_load_astray() {
    let home = Home::new();
    let elsewhere = home.beside(".elsewhere");
    let env = [
        ("CALLONCE_DB", elsewhere.to_str().expect("a plain name")),
        ("CALLONCE_LISTEN", "127.0.0.1:1"),
        ("CALLONCE_BASE", "http://127.0.0.1:1"),
    ];
    let folder = home.folder().to_str().expect("a plain name");
    let done = callonce_with(&env, &["bench", "--dir", folder, "--count", "5"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(is_empty(home.folder()));
}

#[test]
fn an_interrupt_ends_the_server_and_removes_its_database() {
    for interrupt in [Signal::INT, Signal::TERM] {
        let home = Home::new();
        let mut command = Command::new(PROGRAM);
        command.env_clear().args(["bench", "--duration", "10m", "--dir"]).arg(home.folder());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let mut words = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let loading = words.next().expect("it says what it loads").expect("in UTF-8");
        let server = loading.split("process ").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok());
        let server = Pid::from_raw(server.unwrap_or_else(|| panic!("no process in `{loading}`")));
        let server = server.expect("a process id is not zero");
        test_kill_process(server).expect("the server is there");
        assert!(!is_empty(home.folder()));

        let bench = Pid::from_raw(child.id().cast_signed()).expect("a process id is not zero");
        kill_process(bench, interrupt).expect("our own child can be signalled");
        let status = child.wait().expect("our own child can be waited for");
        assert_eq!(status.code(), Some(130), "{interrupt:?}");
        assert!(test_kill_process(server).is_err(), "the server is still there");
        assert!(is_empty(home.folder()));
    }
}

#[test]
fn nonsense_is_refused_with_the_options_name_and_nothing_is_sent() {
    let listener = Listener::answering("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n");
    let base = listener.base();
    for (rest, says) in [
        (&["--concurrency", "0"][..], "--concurrency"),
        (&["--concurrency", "-1"], "--concurrency"),
        (&["--concurrency", "10001"], "--concurrency"),
        (&["--count", "0"], "--count"),
        (&["--count", "1", "--duration", "1s"], "--duration"),
        (&["--duration", "0s"], "--duration"),
        (&["--duration", "10"], "--duration"),
        (&["--rate", "0"], "--rate"),
        (&["--warm-up", "0"], "--warm-up"),
        (&["--warm-up", "-1s"], "--warm-up"),
        (&["--keys", "random"], "--keys"),
        (&["--repeat", "0.5"], "--keys mixed"),
        (&["--keys", "mixed", "--repeat", "1"], "--repeat"),
        (&["--keys", "mixed", "--repeat", "NaN"], "--repeat"),
        (&["--hot", "3"], "--keys hot"),
        (&["--keys", "hot", "--hot", "0"], "--hot"),
        (&["--args", "[1]"], "--args"),
        (&["--tool", "no such tool"], "--tool"),
        (&["--dir", "/tmp"], "--dir"),
        (&["--timeout", "0s"], "--timeout"),
        (&["--settle", "soon"], "--settle"),
    ] {
        let done = callonce(&[&["bench", "--base", &base], rest].concat());
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{rest:?} {done:?}");
        assert!(done.stderr.contains(says), "{rest:?}: no `{says}` in {}", done.stderr);
    }
    assert!(listener.requests().is_empty());
    for (base, code) in [
        ("ftp://127.0.0.1", 2),
        ("https://127.0.0.1", 2),
        ("http://me:secret@127.0.0.1:1", 2),
        ("http://127.0.0.1:1", 69),
    ] {
        let done = callonce(&["bench", "--base", base, "--count", "1"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(code), ""), "{base} {done:?}");
        assert!(!done.stderr.contains("secret"), "{done:?}");
    }
    let done = callonce(&["bench", "--dir", "/no/such/folder", "--count", "1"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(74), ""), "{done:?}");
}

/// What a scripted server does with the POST of this number, counted from 1.
enum Deed {
    Accept,
    Refuse(&'static str, &'static str),
    /// Closes the connection without an answer.
    Hang,
}

/// A server whose `/stats` say what a test wants them to say.
struct Scripted {
    address: SocketAddr,
    keys: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// Accepts every call, and then claims these numbers of calls, successes and effects for so many POSTs.
    fn claiming(claim: impl Fn(u64) -> [u64; 3] + Send + Sync + 'static) -> Self {
        Self::doing(|_| Deed::Accept, claim)
    }

    fn doing(
        deed: impl Fn(u64) -> Deed + Send + Sync + 'static,
        claim: impl Fn(u64) -> [u64; 3] + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let keys = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new((deed, claim, keys.clone(), AtomicU64::new(0), AtomicU64::new(0)));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let script = script.clone();
                // One thread a connection: a load holds several of them open.
                std::thread::spawn(move || {
                    let (deed, claim, keys, posts, accepted) = &*script;
                    while let Some(request) = read_request(&client) {
                        let answer = if request.starts_with("GET /stats ") {
                            let [calls, succeeded, effects] = claim(accepted.load(Ordering::SeqCst));
                            let stats = json!({"calls": calls, "effects": effects, "held": 0,
                                "by_status": {"succeeded": succeeded}, "attempts": {"1": succeeded}});
                            answer("200 OK", "", &stats.to_string())
                        } else {
                            let key = request.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
                            let key = key.expect("a key").to_owned();
                            keys.lock().unwrap_or_else(PoisonError::into_inner).push(key);
                            match deed(posts.fetch_add(1, Ordering::SeqCst) + 1) {
                                Deed::Accept => {
                                    let number = accepted.fetch_add(1, Ordering::SeqCst) + 1;
                                    let call = json!({"call_id": format!("c_{number}")});
                                    answer("202 Accepted", "", &call.to_string())
                                }
                                Deed::Refuse(status, code) => {
                                    let problem = json!({"error": {"code": code, "message": "no"}});
                                    answer(status, "Retry-After: 0\r\n", &problem.to_string())
                                }
                                Deed::Hang => return,
                            }
                        };
                        if (&client).write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, keys }
    }

    fn load(&self, rest: &[&str]) -> Done {
        bench_on(&format!("http://{}", self.address), &[&["--count", "20"], rest].concat())
    }

    /// The keys of all POSTs so far, in the order they came.
    fn keys(&self) -> Vec<String> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// The next request on a connection that is kept open, its head in lower case but for the first line's method.
fn read_request(mut client: &TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    client.read_exact(&mut body).ok()?;
    Some(head)
}

#[test]
fn a_server_that_doubles_or_loses_something_is_found_out() {
    let honest = Scripted::claiming(|posts| [posts; 3]).load(&[]);
    assert_eq!(honest.code, Some(0), "{honest:?}");
    let doubling = Scripted::claiming(|posts| [posts, posts, 2 * posts]).load(&[]);
    let doubling_one = Scripted::claiming(|posts| [posts, posts, posts + posts / 20]).load(&[]);
    let losing_one = Scripted::claiming(|posts| [posts, posts, posts - posts / 20]).load(&[]);
    let forgetting = Scripted::claiming(|posts| [posts - posts / 20; 3]).load(&[]);
    let inventing = Scripted::claiming(|posts| [posts + posts / 20; 3]).load(&[]);
    // Each POST is another call to it, though all have one key.
    let careless = Scripted::claiming(|posts| [posts; 3]).load(&["--keys", "same"]);
    for (done, says) in [
        (doubling, "an effect was doubled: 40 effects, 20 owed"),
        (doubling_one, "an effect was doubled: 21 effects, 20 owed"),
        (losing_one, "an effect was lost: 19 effects, 20 owed"),
        (forgetting, "a call was lost: 20 keys were taken, 19 calls"),
        (inventing, "a key led to two calls: 20 keys were sent, 21 calls"),
        (careless, "a key led to two calls: 1 keys were sent, 20 calls"),
    ] {
        assert_eq!(done.code, Some(6), "{says} {done:?}");
        assert!(done.stderr.contains(says), "no `{says}` in {done:?}");
        let broken = &done.json()["broken"];
        assert!(broken[0].as_str().is_some_and(|law| law.starts_with(says)), "{broken}");
    }
    // Also where the numbers agree: the replay of a key names another call.
    let hidden = Scripted::claiming(|posts| [posts.min(1); 3]).load(&["--keys", "same"]);
    assert_eq!((hidden.code, &hidden.json()["broken"].as_array().map(Vec::len)), (Some(6), &Some(1)));
    assert!(hidden.stderr.contains("19 answers named another call"), "{hidden:?}");
}

#[test]
fn a_busy_server_is_asked_again_with_the_same_key() {
    for (deed, code) in
        [(Deed::Refuse as fn(_, _) -> _, "overloaded"), (|_, _| Deed::Hang, "connection_lost")]
    {
        // Every second POST of the first ten is not taken.
        let often = move |number: u64| match number {
            2 | 4 | 6 | 8 | 10 => deed("503 Service Unavailable", "overloaded"),
            _ => Deed::Accept,
        };
        let server = Scripted::doing(often, |accepted| [accepted; 3]);
        let done = server.load(&[]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let report = done.json();
        assert_eq!(report["requests"]["retries"], json!({code: 5}), "{report}");
        assert_eq!(report["requests"]["errors"], json!({}), "{report}");
        let sent = server.keys();
        let distinct: HashSet<_> = sent.iter().collect();
        assert_eq!((sent.len(), distinct.len()), (25, 20), "{sent:?}");
    }
}

#[test]
fn what_is_not_accepted_in_the_end_is_told_by_its_code_and_by_the_exit() {
    for (status, code, exit, ends_early) in [
        ("400 Bad Request", "bad_request", 2, true),
        ("409 Conflict", "idempotency_conflict", 3, false),
        ("500 Internal Server Error", "internal", 5, true),
        ("429 Too Many Requests", "overloaded", 7, false),
    ] {
        let server = Scripted::doing(move |_| Deed::Refuse(status, code), |accepted| [accepted; 3]);
        let done = server.load(&[]);
        assert_eq!(done.code, Some(exit), "{status} {done:?}");
        let report = done.json();
        let errors = report["requests"]["errors"][code].as_u64().unwrap_or_default();
        // Each of the four connections may have had a request under way.
        assert!(if ends_early { (1..=4).contains(&errors) } else { errors == 20 }, "{status} {report}");
        assert_eq!(report["requests"]["accepted"], 0, "{status} {report}");
    }
}

#[test]
fn requests_that_stay_without_an_answer_end_the_load_and_leave_their_outcome_unknown() {
    let server = Scripted::doing(|_| Deed::Hang, |accepted| [accepted; 3]);
    let done = server.load(&[]);
    assert_eq!(done.code, Some(5), "{done:?}");
    let report = done.json();
    // Each of the four connections may have had a request under way, and sent it eleven times.
    let unknown = report["requests"]["unknown"].as_u64().unwrap_or_default();
    assert!((1..=4).contains(&unknown), "{report}");
    assert_eq!(report["requests"]["errors"], json!({"connection_lost": unknown}), "{report}");
    let sent = server.keys();
    let distinct: HashSet<_> = sent.iter().collect();
    assert_eq!((sent.len() as u64, distinct.len() as u64), (11 * unknown, unknown), "{sent:?}");
}

#[test]
fn in_an_open_loop_a_stall_counts_for_every_request_that_was_due_meanwhile() {
    let stalling = || {
        Scripted::doing(
            |number| {
                let watch = Stopwatch::start();
                until("the stall is over", || {
                    (number > 1 || watch.elapsed() >= STALL).then_some(Deed::Accept)
                })
            },
            |accepted| [accepted; 3],
        )
    };
    let load = |limit: [&str; 2]| {
        let base = format!("http://{}", stalling().address);
        let common = ["bench", "--base", &base, "--output", "json", "--concurrency", "1", "--rate", "1000"];
        let done = callonce(&[&common[..], &limit].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        done.json()
    };
    // All twenty are due in the first 20 ms, and none is answered before the stall is over.
    let report = load(["--count", "20"]);
    let at_least = (STALL - Duration::from_millis(20)).as_millis() as f64;
    assert!(report["latency_ms"]["p50"].as_f64() >= Some(at_least), "{report}");
    assert_eq!((&report["requests"]["accepted"], &report["requests"]["unsent"]), (&json!(20), &json!(0)));
    // A hundred are due, and the time for them is over with the first answer.
    let report = load(["--duration", "100ms"]);
    assert_eq!((&report["requests"]["accepted"], &report["requests"]["unsent"]), (&json!(1), &json!(99)));
}

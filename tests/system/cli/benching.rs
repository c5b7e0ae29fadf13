//! `bench`: every pattern of keys against a real server, and what it refuses.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::harness::{Done, Home, Listener, PROGRAM, callonce, callonce_with};

/// A load on a server of its own, whose database lies in the home's folder for that time.
fn bench(home: &Home, rest: &[&str]) -> Done {
    let folder = home.folder().to_str().expect("a temporary folder has a plain name");
    callonce(&[&["bench", "--dir", folder, "--output", "json", "--concurrency", "4"], rest].concat())
}

/// A load on the server at this address.
pub fn bench_on(base: &str, rest: &[&str]) -> Done {
    callonce(&[&["bench", "--base", base, "--output", "json", "--concurrency", "4"], rest].concat())
}

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
fn keys_of_the_warm_up_that_come_again_are_told_beside_the_new_ones() {
    let home = Home::new();
    for (keys, before, now) in [("same", 1, 0), ("hot", 4, 12), ("distinct", 0, 50)] {
        // The first requests of a pattern of few keys make them, one each.
        let done = bench(&home, &["--count", "50", "--warm-up", "4", "--keys", keys]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let calls = &done.json()["calls"];
        assert_eq!((&calls["keys_of_warm_up"], &calls["keys"]), (&json!(before), &json!(now)), "{keys}");
    }
    let folder = home.folder().to_str().expect("a plain name");
    let done = callonce(&["bench", "--dir", folder, "--count", "50", "--warm-up", "4", "--keys", "same"]);
    let check =
        "0 new keys sent beside the 1 of the warm-up, 0 new calls, 0 succeeded, 0 effects: nothing doubled";
    assert!(done.stdout.contains(check), "{done:?}");
}

#[test]
fn what_is_no_callonce_is_a_mistake_of_whoever_typed_its_address() {
    for body in ["<html>Welcome</html>", "{}", r#"{"calls":"many"}"#, "[]"] {
        let listener = Listener::answering(format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let done = bench_on(&listener.base(), &["--count", "1"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{body}: {done:?}");
        assert!(done.stderr.contains("is --base the address of a callonce server?"), "{body}: {done:?}");
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
                "keys_of_warm_up",
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

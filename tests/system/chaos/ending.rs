//! How the proxy starts, refuses to, and ends.

use std::fs::File;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::process::Stdio;
use std::sync::mpsc::channel;

use callonce::testing::raw_http::request;
use serde_json::Value;

use super::upstream::{Upstream, ok};
use crate::harness::{Proxy, callonce};

#[test]
fn a_signal_ends_it_with_all_evidence_and_a_summary() {
    let upstream = Upstream::answering(|_| ok("done"));
    let args = ["--mode", "drop-response", "--hold", "--every", "2"];
    let proxy = Proxy::before(upstream.address, &args);
    proxy.client().talk(&request("POST", "/", &["Connection: close"], b"1")).expect("the proxy answers");
    let mut held = proxy.client().connect().expect("the proxy listens");
    held.write_all(&request("POST", "/", &[], b"2")).expect("the proxy reads");
    assert_eq!([upstream.sees().body, upstream.sees().body], [b"1", b"2"]);
    let mut idle = proxy.client().connect().expect("the proxy listens");
    idle.write_all(b"POST / HT").expect("the proxy reads");

    let (exit, evidence) = proxy.stop();
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let ends: Vec<_> =
        evidence.iter().map(|line| (line["request"].as_u64(), line["client"].as_str())).collect();
    assert_eq!(ends, [(Some(1), Some("answer")), (Some(2), Some("stopped"))]);
    let summary = "stopped; requests: 2 (1 drop-response, 1 pass); sent to upstream: 2; \
                   clients: 1 answered, 1 cut off at the end";
    assert!(exit.stderr.contains(summary), "{exit:?}");
}

#[test]
fn evidence_that_cannot_be_written_is_no_success() {
    let upstream = Upstream::answering(|_| ok("done"));
    let full = File::options().write(true).open("/dev/full").expect("Linux has one");
    let (reader, unread) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    for (stdout, why) in [(Stdio::from(full), "No space left"), (Stdio::from(unread), "nobody reads it")] {
        let proxy = Proxy::writing_to(stdout, upstream.address, &["--mode", "pass"]);
        // It may end before its client has all of the answer.
        let _ = proxy.client().talk(&request("GET", "/", &["Connection: close"], b""));
        let exit = proxy.exit();
        assert_eq!(exit.code, Some(74), "{exit:?}");
        let message = format!("stopped, because the evidence cannot be written: stdout: {why}");
        assert!(exit.stderr.contains(&message) && exit.stderr.contains("requests: 1 (1 pass)"), "{exit:?}");
    }
}

#[test]
fn a_client_that_gave_up_before_the_end_is_not_told_as_stopped() {
    let (begun, begins) = channel();
    let upstream = Upstream::answering(move |_| {
        begun.send(()).expect("the test waits for it");
        // Never answered: its client has long gone.
        loop {
            std::thread::park();
        }
    });
    let proxy = Proxy::before(upstream.address, &["--mode", "pass"]);
    let mut impatient = proxy.client().connect().expect("the proxy listens");
    let mut patient = proxy.client().connect().expect("the proxy listens");
    for client in [&mut impatient, &mut patient] {
        client.write_all(&request("POST", "/", &[], b"1")).expect("the proxy reads");
        begins.recv().expect("the service begins");
    }
    // By the end of the connection it is known that the proxy has noticed.
    impatient.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(impatient.read(&mut [0]).expect("it is closed, not reset"), 0);
    let (exit, evidence) = proxy.stop();
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let mut ends: Vec<_> =
        evidence.iter().map(|line| (&line["request"], &line["sent"], &line["client"])).collect();
    ends.sort_by_key(|(request, ..)| request.as_u64());
    let [left, cut] = ["gave-up", "stopped"].map(Value::from);
    let [one, two] = [1, 2].map(Value::from);
    assert_eq!(ends, [(&one, &one, &left), (&two, &one, &cut)]);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (args, named) in [
        (&["--mode", "explode"][..], "--mode"),
        (&[], "--mode"),
        (&["--mode", "pass", "--upstream", "https://x"], "--upstream"),
        (&["--mode", "pass", "--upstream", "host:0"], "--upstream"),
        (&["--mode", "pass", "--listen", "here"], "--listen"),
        (&["--mode", "delay-response", "--delay", "0s"], "--delay"),
        (&["--mode", "delay-response", "--delay", "-1s"], "--delay"),
        (&["--mode", "delay-response", "--delay", "2"], "--delay"),
        (&["--mode", "pass", "--delay", "2s"], "--delay"),
        (&["--mode", "reset", "--second", "same-connection"], "--second"),
        (&["--mode", "pass", "--on", "request"], "--on"),
        (&["--mode", "reset", "--hold"], "--hold"),
        (&["--mode", "pass", "--first", "-1"], "--first"),
        (&["--mode", "pass", "--every", "0"], "--every"),
        (&["--mode", "pass", "--share", "1.5"], "--share"),
        (&["--mode", "pass", "--share", "NaN"], "--share"),
        (&["--mode", "pass", "--first", "1", "--every", "2"], "--every"),
        (&["--mode", "pass", "--seed", "1"], "--share"),
        (&["--mode", "pass", "--seed", "1", "--first", "1"], "--seed says nothing without --share"),
        (&["--mode", "pass", "--seed", "1", "--every", "2"], "--seed says nothing without --share"),
        (&["--mode", "pass", "--only", "a b"], "--only"),
        (&["--mode", "pass", "--path", "pay"], "--path"),
    ] {
        let done = callonce(&[&["chaos", "proxy"], args].concat());
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?}: {done:?}");
        assert!(done.stderr.contains(named), "{args:?}: {done:?}");
    }
    let upstream = Upstream::answering(|_| ok(""));
    let taken = upstream.address.to_string();
    let done = callonce(&["chaos", "proxy", "--mode", "pass", "--listen", &taken]);
    assert_eq!(done.code, Some(78), "{done:?}");
    assert!(done.stderr.contains("--listen"), "{done:?}");
}

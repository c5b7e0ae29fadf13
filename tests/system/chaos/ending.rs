//! How the proxy starts, refuses to, and ends.

use std::io::Write;

use callonce::testing::raw_http::request;

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

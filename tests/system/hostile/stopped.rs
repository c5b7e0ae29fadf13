//! A server that is stopped past a lease (SIGSTOP) and goes on: what it then reports is too late, and told so.

use callonce::engine::clock::Clock;
use rustix::process::{Pid, Signal, kill_process};

use super::size;
use crate::harness::{Client, Home, Server, until};

const STALLED: &str = r#"{"tool":"charge","args":{"amount":100,"_stall_before_report":true}}"#;

fn signal(server: &Server, signal: Signal) {
    let pid = Pid::from_raw(server.pid().cast_signed()).expect("a process id is not zero");
    kill_process(pid, signal).expect("our own child can be signalled");
}

fn refused(client: Client) -> u64 {
    let metrics = client.get("/metrics").body;
    let line = metrics.lines().find_map(|line| line.strip_prefix("callonce_stale_reports_total "));
    line.and_then(|count| count.trim().parse().ok()).expect("the metric is there")
}

#[test]
fn each_report_that_comes_after_the_lease_is_refused_counted_and_logged() {
    let rounds = size("CALLONCE_HOSTILE_STOPS", 10);
    let home = Home::new();
    let server = home.start().args(["--chaos", "--lease", "1s", "--time-limit", "900ms"]).server();
    let client = server.client();
    for round in 1..=rounds {
        let key = format!("k{round}");
        client.post(&key, STALLED);
        until("the first attempt has begun", || (client.by_key(&key).json()["attempt"] == 1).then_some(()));
        signal(&server, Signal::STOP);
        let lease = home.db().rows(&format!("SELECT lease_until FROM calls WHERE idem_key = '{key}'"));
        let over: f64 = lease.first().and_then(|at| at.parse().ok()).expect("a running call has a lease");
        until("the lease is over", || (Clock::System.now().as_seconds() > over).then_some(()));
        signal(&server, Signal::CONT);

        let done = client.settle(&key, STALLED).json();
        assert_eq!(done["status"], "succeeded", "{done}");
        assert!(done["attempt"].as_u64() >= Some(2), "{done}");
        until("the late report is counted", || (refused(client) >= round).then_some(()));
        assert_eq!(home.db().count("SELECT count(*) FROM effects"), round.cast_signed());
    }
    let told = until("each late report is logged", || {
        let told = server.words().iter().filter(|line| line.contains("late report")).count();
        (told as u64 >= rounds).then_some(told)
    });
    eprintln!(
        "stopped {rounds} times past the lease: {} late reports refused, {told} logged",
        refused(client)
    );
    assert_eq!(client.stats()["effects"], rounds);
    assert_eq!(server.stop().code, Some(0));
    home.db().keeps_the_laws();
}

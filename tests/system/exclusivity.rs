//! One server per file: whoever comes second says so and goes, whatever path it came by.

use std::os::unix::fs::symlink;
use std::process::Command;

use super::harness::{Exit, Home, Server, Start, all_at_once};

const SLEEP_LONG: &str = r#"{"tool":"sleep","args":{"seconds":10}}"#;

/// What a server that finds the file in use exits with.
const IN_USE: Option<i32> = Some(75);

fn owner(home: &Home) -> Vec<String> {
    home.db().rows("SELECT event, detail FROM audit ORDER BY id")
}

#[test]
fn a_second_server_exits_and_names_the_first() {
    let home = Home::new();
    let first = home.serve();
    first.client().post("k", SLEEP_LONG);
    first.client().reaches("k", "running");
    let before = owner(&home);

    let link = home.folder().join("link.db");
    symlink(home.database(), &link).expect("a link can be made");
    let round_about = home.folder().join(".").join("calls.db");
    for path in [&home.database(), &link, &round_about] {
        let second = Start::on(path).end();
        assert_eq!(second.code, IN_USE, "{second:?}");
        let who = format!("process {},", first.pid());
        assert!(second.stderr.contains(&who) && second.stderr.contains("calls.db"), "{second:?}");
    }

    // What the first was running is its own still: no attempt was taken away or counted.
    assert_eq!(owner(&home), before);
    assert_eq!(before.len(), 2, "created and claimed");
    assert_eq!(first.client().get("/readyz").status, 200);

    // The lock ends with the process, however that ends.
    first.kill();
    let next = home.serve();
    assert_eq!(next.client().reaches("k", "running").json()["attempt"], 2);
}

#[test]
fn of_many_that_open_a_new_path_at_once_one_serves() {
    const SERVERS: usize = 16;
    for _ in 0..2 {
        let home = Home::new();
        let started = all_at_once(SERVERS, |_| home.start().attempt());
        let (serving, refused): (Vec<_>, Vec<_>) = started.into_iter().partition(Result::is_ok);
        assert_eq!(serving.len(), 1);
        for exit in refused.into_iter().filter_map(Result::err) {
            assert_eq!(exit.code, IN_USE, "{exit:?}");
        }
        let server = serving.into_iter().find_map(Result::ok).expect("there is one");
        assert_eq!(server.client().settle("k", super::harness::CHARGE).text("status"), "succeeded");
        home.db().keeps_the_laws();
    }
}

#[test]
fn two_servers_that_are_both_process_1_are_told_apart() {
    const IN_A_CONTAINER: [&str; 4] = ["unshare", "-fp", "--mount-proc", "--kill-child"];
    let allowed = Command::new("unshare").args(&IN_A_CONTAINER[1..]).arg("true").output();
    if !allowed.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a process namespace cannot be made here: {allowed:?}");
        return;
    }
    let home = Home::new();
    let contained = || Start::under(&IN_A_CONTAINER, &home.database());
    let first: Server = contained().server();
    first.client().post("k", SLEEP_LONG);
    first.client().reaches("k", "running");
    let before = owner(&home);
    assert!(before[1].starts_with("claimed|1:"), "{before:?}");

    let second: Exit = contained().end();
    assert_eq!(second.code, IN_USE, "{second:?}");
    assert!(second.stderr.contains("process 1, boot "), "{second:?}");
    assert_eq!(owner(&home), before);

    // The next process 1 is another one, and knows it: it takes the call back at once.
    first.kill();
    let third = contained().server();
    third.client().reaches("k", "running");
    let claims = home.db().rows("SELECT DISTINCT detail FROM audit WHERE event = 'claimed'");
    assert_eq!(claims.len(), 2, "{claims:?}");
    assert!(claims.iter().all(|owner| owner.starts_with("1:")), "{claims:?}");
    assert_eq!(home.db().events("k"), ["created", "claimed", "recover", "claimed"]);
}

#[test]
fn a_server_that_cannot_listen_runs_nothing() {
    let home = Home::new();
    let server = home.start().dying_at("worker.before_claim").server();
    let _ = server.client().try_post("k", super::harness::CHARGE);
    server.exit();

    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    let refused = home.start().args(["--listen", &address]).end();
    assert_eq!(refused.code, Some(78), "{refused:?}");
    assert!(refused.stderr.contains("--listen") && refused.stderr.contains(&address), "{refused:?}");
    assert_eq!(home.db().events("k"), ["created"]);
    home.db().keeps_the_laws();
}

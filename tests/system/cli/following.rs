//! `call` waits for a call that was accepted: over closed connections and restarts, until its time is over.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use super::script::{
    LOOK_UP, POST, abrupt, accepted, answer, bare, call, done, lines, no_such_call, printed, problem, view,
};
use crate::harness::{Done, Home, Listener, PROGRAM, Reply};

#[test]
fn it_looks_on_over_closed_connections_and_servers_that_are_not_ready() {
    let listener = Listener::in_turn([
        accepted("K"),
        Reply::HangUp,
        bare("503 Service Unavailable"),
        bare("502 Bad Gateway"),
        bare("429 Too Many Requests"),
        // Kept alive by its words, and closed all the same.
        abrupt("200 OK", "Connection: keep-alive\r\n", &view("K", "running")),
        problem("500 Internal Server Error", "The server has a fault", "internal"),
        done("K"),
    ]);
    let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key", "K"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["status"], "succeeded");
    let requests = listener.requests();
    assert_eq!(lines(&requests)[0], POST);
    assert_eq!(lines(&requests)[1..], [LOOK_UP; 7]);
    // The first is answered at once, so that a lost answer is noticed soon; the looks are held.
    assert!(requests[0].header("prefer").is_empty());
    assert!(requests[1..].iter().all(|look| look.header("prefer") == ["wait=5"]), "{requests:?}");
}

#[test]
fn it_waits_on_while_the_server_is_killed_and_started_again() {
    let home = Home::new();
    let server = home.serve();
    let address = server.address.to_string();
    let base = format!("http://{address}");
    let mut command = Command::new(PROGRAM);
    command.env_clear().args([
        "call",
        "sleep",
        "--arg",
        "seconds=2",
        "--key",
        "K",
        "--wait",
        "60s",
        "--base",
        &base,
    ]);
    let child = command.args(["--output", "json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the program runs");
    server.client().reaches("K", "running");
    assert!(server.kill().was_killed());
    let _server = home.start().env("CALLONCE_LISTEN", &address).server();
    let ended = Done::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!((&ended.json()["status"], &ended.json()["attempt"]), (&"succeeded".into(), &2.into()));
    home.db().keeps_the_laws();
}

/// Once a call is accepted, no later trouble makes it one that was never sent, or that does not exist.
#[test]
fn what_was_accepted_stays_unknown_until_it_is_seen_to_end() {
    let other_call = view("K", "succeeded").replace("c_1", "c_2");
    for (later, says) in [
        (bare("404 Not Found"), "answered 404"),
        (no_such_call(), "not_found"),
        (bare("400 Bad Request"), "answered 400"),
        (bare("409 Conflict"), "answered 409"),
        (bare("503 Service Unavailable"), "503"),
        (Reply::HangUp, "no answer"),
        (Reply::Silence, "timed out"),
        (answer("200 OK", "", "<html>"), "not a JSON object"),
        (answer("200 OK", "", &format!("[{}]", view("K", "succeeded"))), "not a JSON object"),
        (answer("200 OK", "", &view("L", "succeeded")), "another key"),
        (answer("200 OK", "", &other_call), "its key led to c_2"),
    ] {
        let listener = Listener::in_turn([accepted("K"), later.clone()]);
        let rest = ["charge", "--arg", "amount=1", "--key", "K", "--wait", "300ms", "--timeout", "200ms"];
        let ended = call(&listener.base(), &rest);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(5), ""), "{later:?}: {ended:?}");
        assert!(
            ended.stderr.contains("it was accepted") && ended.stderr.contains(says),
            "{later:?}: {ended:?}"
        );
        assert!(printed(&ended).starts_with("callonce call --args='{\"amount\":1}' --key=K "), "{ended:?}");
        assert_eq!(lines(&listener.requests())[0], POST, "accepted is accepted: {later:?}");
    }

    // It answers its first request, and is not there any more when the answer arrives.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let base = format!("http://{}", listener.local_addr().expect("it is bound"));
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client comes");
        drop(listener);
        let _ = client.read(&mut [0; 4096]);
        let Reply::Answer(answer) = accepted("K") else { return };
        let _ = client.write_all(answer.as_bytes());
        // Until the client hangs up, so that it has read the answer before the connection is reset.
        let _ = client.read_to_end(&mut Vec::new());
    });
    let ended = call(&base, &["charge", "--key", "K", "--wait", "300ms"]);
    server.join().expect("the server does not panic");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(5), ""), "{ended:?}");
    assert!(ended.stderr.contains("it was accepted") && ended.stderr.contains("unknown"), "{ended:?}");
}

/// A proxy may strip what asks the server to wait.
#[test]
fn a_server_that_does_not_wait_is_not_asked_without_end() {
    let listener = Listener::in_turn([accepted("K")]);
    let ended = call(&listener.base(), &["charge", "--arg", "amount=1", "--key", "K", "--wait", "1s"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert_eq!(ended.json()["status"], "pending");
    assert!(printed(&ended).starts_with("callonce get --key=K --base=http://"), "{ended:?}");
    let requests = listener.requests().len();
    assert!((2..=3).contains(&requests), "{requests} requests in a second");
}

//! `call --new-key-on-retry` shows what a new key for each retry leads to.

use std::collections::HashSet;
use std::net::SocketAddr;

use super::script::{answer, call, keys};
use crate::harness::{Client, Home, Listener, Reply, post_text};

/// Passes everything on, and loses the answers to the first two calls.
fn losing_two_answers(upstream: SocketAddr) -> Listener {
    let client = Client::of(upstream);
    let mut posts = 0;
    Listener::serving(move |request| {
        let passed_on = match request.header("idempotency-key")[..] {
            [key] => {
                posts += 1;
                client.send(&post_text(key, "", &request.body))
            }
            _ => client.try_get(request.line.trim_start_matches("GET ")),
        };
        let answered = passed_on.expect("the server answers");
        match posts <= 2 && request.line.starts_with("POST") {
            true => Reply::HangUp,
            false => answer(&format!("{} Passed on", answered.status), "", &answered.body),
        }
    })
}

#[test]
fn a_new_key_on_each_retry_is_another_call_and_another_effect() {
    let home = Home::new();
    let server = home.serve();
    let listener = losing_two_answers(server.address);
    let rest = ["charge", "--arg", "amount=1", "--retries", "3", "--new-key-on-retry"];
    let ended = call(&listener.base(), &rest);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let requests = listener.requests();
    let sent: HashSet<_> = keys(&requests).concat().into_iter().map(str::to_owned).collect();
    assert_eq!(sent.len(), 3, "{requests:?}");
    for key in &sent {
        assert!(ended.stderr.contains(key), "{key} is not told: {ended:?}");
        server.client().reaches(key, "succeeded");
    }
    assert!(ended.stderr.contains("never do it in earnest"), "{ended:?}");
    assert!(ended.stderr.contains("one intention, 3 keys, 3 calls"), "{ended:?}");
    assert_eq!(home.db().rows("SELECT count(*), sum(amount) FROM effects"), ["3|3"]);

    // Without the flag the same losses are one call.
    let careful = losing_two_answers(server.address);
    let ended = call(&careful.base(), &["charge", "--arg", "amount=10", "--retries", "3"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("WARNING"), "{ended:?}");
    assert_eq!(home.db().rows("SELECT count(*), sum(amount) FROM effects"), ["4|13"]);
}

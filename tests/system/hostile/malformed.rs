//! Thousands of requests that are none: not one leads to a fault, to a call, or to another request than it is.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

use callonce::testing::hostile::malformed::{Kind, request};

use super::size;
use crate::harness::{CHARGE, Client, Home, all_at_once};

/// How many are sent if nothing else is said: 250 of each kind.
const REQUESTS: u64 = 5_000;
const CLIENTS: u64 = 8;

/// Every answer that comes on the connection, whole: status, head, body.
fn answers(bytes: &[u8], to_head: bool) -> Vec<(u16, String, Vec<u8>)> {
    // To HEAD there is a length, and nothing behind it.
    let (mut rest, mut answers) = (bytes, Vec::new());
    while !rest.is_empty() {
        let end = rest.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("half a head: {}", rest.escape_ascii())) + 4;
        let head = String::from_utf8(rest[..end].to_vec()).expect("heads are ASCII").to_ascii_lowercase();
        let status = head.strip_prefix("http/1.1 ").and_then(|head| head.get(..3)?.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status line: {head}"));
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        let length = if to_head { 0 } else { length };
        assert!(rest.len() >= end + length, "half a body after {head}");
        answers.push((status, head, rest[end..end + length].to_vec()));
        rest = &rest[end + length..];
    }
    answers
}

/// Sends the bytes, as much of them as the server takes, and returns all that comes back.
fn exchange(client: Client, kind: Kind, bytes: &[u8]) -> Vec<u8> {
    let mut stream = client.connect().expect("the server accepts");
    // It may have answered, and closed, before it saw all.
    let _ = stream.write_all(bytes);
    let mut back = Vec::new();
    let says_that_it_is_over = matches!(kind, Kind::Cut | Kind::Noise);
    if !says_that_it_is_over {
        // The first answer comes to a client that would still have something to say.
        let mut piece = [0; 65_536];
        match stream.read(&mut piece) {
            Ok(read) => back.extend_from_slice(&piece[..read]),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{kind:?}: {}", bytes.escape_ascii())
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    match stream.read_to_end(&mut back) {
        Ok(_) => {}
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{kind:?}: {}", bytes.escape_ascii())
        }
    }
    back
}

/// Sends one, and returns the statuses of all its answers; none where the server only closed.
fn send(client: Client, kind: Kind, number: u64) -> Vec<u16> {
    let bytes = request(kind, number);
    let shown = || format!("{kind:?} {number}: {}", bytes[..bytes.len().min(2_000)].escape_ascii());
    let answers = answers(&exchange(client, kind, &bytes), bytes.starts_with(b"HEAD "));
    for (status, head, body) in &answers {
        assert!(*status < 500, "{status} for {}", shown());
        assert!(*status >= 400 || (*status == 200 && kind.may_succeed()), "{status} for {}", shown());
        if *status >= 400 && !body.is_empty() {
            assert!(head.contains("content-type: application/problem+json"), "{head} for {}", shown());
        }
    }
    // What is behind a request that could end at two places is never read as another one.
    assert!(answers.len() <= 1, "{} answers for {}", answers.len(), shown());
    answers.into_iter().map(|(status, ..)| status).collect()
}

#[test]
fn no_malformed_request_is_a_fault_a_call_or_two_requests() {
    let requests = size("CALLONCE_HOSTILE_REQUESTS", REQUESTS);
    let seed = size("CALLONCE_HOSTILE_SEED", 1);
    let home = Home::new();
    let server = home.serve();
    let client = server.client();
    let known = client.settle("known", CHARGE);
    let share = |thread: usize| (0..requests).filter(move |number| number % CLIENTS == thread as u64);
    let counts = all_at_once(CLIENTS as usize, |thread| {
        let mut counts: BTreeMap<(Kind, String), u64> = BTreeMap::new();
        for number in share(thread) {
            let kind = Kind::ALL[(number / CLIENTS) as usize % Kind::ALL.len()];
            let statuses = send(client, kind, (seed << 32) + number);
            let told = if statuses.is_empty() { "closed".into() } else { statuses[0].to_string() };
            *counts.entry((kind, told)).or_default() += 1;
        }
        counts
    });
    let mut all: BTreeMap<(Kind, String), u64> = BTreeMap::new();
    for (what, count) in counts.into_iter().flatten() {
        *all.entry(what).or_default() += count;
    }
    for kind in Kind::ALL {
        let of_kind = all.iter().filter(|((known, _), _)| *known == kind);
        let told: Vec<_> = of_kind.map(|((_, status), count)| format!("{status} × {count}")).collect();
        eprintln!("{:14} {}", format!("{kind:?}"), told.join(", "));
        // A kind to which the server only ever closes would have shown nothing.
        let answered = all.iter().any(|((known, status), _)| *known == kind && status != "closed");
        assert!(answered, "no {kind:?} was ever answered");
    }
    assert_eq!(all.values().sum::<u64>(), requests);
    // It goes on, and nothing was stored: one call, the one that was meant.
    assert_eq!(client.by_key("known").body, known.body);
    assert_eq!(client.get("/readyz").status, 200);
    assert_eq!(home.db().rows("SELECT idem_key FROM calls"), ["known"]);
    assert!(!server.words().iter().any(|line| line.contains("panic")), "{:?}", server.words());
    assert_eq!(server.stop().code, Some(0));
    home.db().keeps_the_laws();
}

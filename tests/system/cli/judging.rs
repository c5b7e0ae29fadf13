//! The check of `bench` against servers that double, lose, refuse, stall or do not answer.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callonce::engine::clock::Stopwatch;
use serde_json::json;

use super::benching::bench_on;
use crate::harness::{Done, callonce, until};

/// How long a server that stalls holds its first answer.
const STALL: Duration = Duration::from_secs(1);

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
    // In the warm-up, too: that is when the one key is raced for.
    let careless = Scripted::claiming(|posts| [posts; 3]).load(&["--keys", "same", "--warm-up", "5"]);
    assert_eq!((careless.code, careless.stdout.as_str()), (Some(6), ""), "{careless:?}");
    let says = "the warm-up: a key led to two calls: 1 keys were sent, 5 calls";
    assert!(careless.stderr.contains(says), "{careless:?}");
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

//! The careful client as others use it: in their own program, with their own time and chance, told of every try.

use std::time::Duration;

use callonce::domain::backoff::Backoff;
use callonce::domain::call::Status;
use callonce::domain::id::{IdemKey, ToolName};
use callonce::domain::json;
use callonce::domain::time::Timestamp;
use callonce::engine::clock::Stopwatch;
use callonce::http::client::{Client, GaveUp, Intent, Lookup, Retry, Submitted, Surroundings, Trouble, Try};

use crate::cli::script::{accepted, answer, no_such_call, problem};
use crate::harness::{Home, Listener, Reply};

/// A place where the dice always fall high and every try is remembered.
struct Place {
    since_start: Stopwatch,
    tries: Vec<Try>,
}

impl Place {
    fn new() -> Self {
        Self { since_start: Stopwatch::start(), tries: Vec::new() }
    }
}

impl Surroundings for Place {
    /// Sun, 06 Nov 1994 08:49:37 GMT.
    fn now(&mut self) -> Timestamp {
        Timestamp::from_micros(784_111_777_000_000)
    }

    fn uptime(&mut self) -> Duration {
        self.since_start.elapsed()
    }

    fn chance(&mut self) -> f64 {
        1.0
    }

    fn tried(&mut self, tried: &Try) {
        self.tries.push(tried.clone());
    }
}

fn intent(key: &str) -> Intent {
    Intent {
        key: IdemKey::parse(key).expect("a key"),
        tool: ToolName::parse("charge").expect("a tool"),
        args: json::parse(br#"{"amount":1}"#).expect("JSON"),
        client_id: None,
        seq: None,
    }
}

/// Pauses of 1, 2, 4, 4, … ms.
fn quick(retries: u32) -> Retry {
    let backoff = Backoff { base: Duration::from_millis(1), cap: Duration::from_millis(4) };
    Retry { retries, backoff, longest_retry_after: Duration::from_millis(7), ..Retry::default() }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime starts")
}

#[test]
fn every_try_is_told_as_a_value() {
    let date = "Retry-After: Sun, 06 Nov 1994 09:49:37 GMT\r\n";
    let listener = Listener::in_turn([
        Reply::HangUp,
        answer("503 Service Unavailable", "Retry-After: 3600\r\n", ""),
        answer("429 Too Many Requests", date, ""),
        answer("503 Service Unavailable", "", ""),
        accepted("K"),
    ]);
    let base = listener.base();
    let (place, submitted) = runtime().block_on(async {
        let client = Client::new(&base).expect("an address");
        // On another task, as a crowd of clients would be.
        let sending = tokio::spawn(async move {
            let mut place = Place::new();
            let submitted = client.submit(&intent("K"), quick(9), &mut place).await;
            (place, submitted)
        });
        sending.await.expect("the client does not panic")
    });
    let Ok(Submitted::Accepted(seen)) = submitted else { panic!("{submitted:?}") };
    assert_eq!((seen.call_id.as_str(), seen.status), ("c_1", Status::Pending));
    let told: Vec<_> = place.tries.iter().map(|one| (one.number, one.status, one.pause)).collect();
    let ms = |n| Some(Duration::from_millis(n));
    // What the server asks for is followed up to a limit, and the backoff comes on top.
    let expected = [
        (1, None, ms(1)),
        (2, Some(503), ms(7 + 2)),
        (3, Some(429), ms(7 + 4)),
        (4, Some(503), ms(4)),
        (5, Some(202), None),
    ];
    assert_eq!(told, expected);
    assert!(place.tries.iter().all(|one| one.key.as_str() == "K" && one.was_sent), "{:?}", place.tries);
    let first = place.tries[0].error.as_deref().unwrap_or_default();
    assert!(first.contains("no answer from http://127.0.0.1:"), "{first}");
    assert!(place.tries[1..].iter().all(|one| one.error.is_none()), "{:?}", place.tries);
}

#[test]
fn what_was_given_up_says_why() {
    let busy = || answer("503 Service Unavailable", "", "");
    let listener = Listener::in_turn([busy(), busy(), no_such_call()]);
    let refusing = problem("400 Bad Request", "The request is malformed", "bad_request");
    let refusing = Listener::in_turn([refusing]);
    let nobody = {
        let bound = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        format!("http://{}", bound.local_addr().expect("it is bound"))
    };
    runtime().block_on(async {
        let submit = async |base: &str| {
            let mut place = Place::new();
            let client = Client::new(base).expect("an address");
            let submitted = client.submit(&intent("K"), quick(1), &mut place).await;
            (submitted, place.tries)
        };
        let (submitted, tries) = submit(&listener.base()).await;
        let Err(GaveUp::Unknown { tries: 2, trouble, lookup: Lookup::NotThere }) = submitted else {
            panic!("{submitted:?}")
        };
        assert!(matches!(trouble, Trouble::Busy(answer) if answer.status == 503));
        assert_eq!(tries.len(), 2);

        let (submitted, tries) = submit(&refusing.base()).await;
        assert!(
            matches!(&submitted, Ok(Submitted::Refused { answer, may_be_accepted: false }) if answer.status == 400),
            "{submitted:?}"
        );
        assert_eq!(tries.len(), 1);

        let (submitted, tries) = submit(&nobody).await;
        assert!(matches!(submitted, Err(GaveUp::NeverSent(_))), "{submitted:?}");
        assert!(tries.len() == 2 && tries.iter().all(|one| !one.was_sent), "{tries:?}");
    });
}

#[test]
fn twelve_careful_clients_with_one_key_are_one_call() {
    let home = Home::new();
    let server = home.serve();
    let base = format!("http://{}", server.address);
    let seen = runtime().block_on(async {
        let clients: Vec<_> = (0..12)
            .map(|_| {
                let client = Client::new(&base).expect("an address");
                tokio::spawn(async move {
                    let (mut place, intent) = (Place::new(), intent("K"));
                    match client.submit(&intent, Retry::default(), &mut place).await {
                        Ok(Submitted::Accepted(seen) | Submitted::Found(seen)) => {
                            let wait = Duration::from_secs(60);
                            client.follow(&intent, seen, wait, Retry::default(), &mut place).await
                        }
                        other => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        let mut all = Vec::new();
        for client in clients {
            all.push(client.await.expect("no client panics").expect("nobody loses sight of it"));
        }
        all
    });
    assert!(seen.iter().all(|one| one.status == Status::Succeeded && one.body == seen[0].body), "{seen:?}");
    assert_eq!(home.db().rows("SELECT count(*), sum(amount) FROM effects"), ["1|1"]);
    home.db().keeps_the_laws();
}

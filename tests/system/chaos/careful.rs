//! A careful client behind a network that fails: of a thousand calls, is one doubled or lost?

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use callonce::domain::backoff::Backoff;
use callonce::domain::id::{IdemKey, ToolName};
use callonce::domain::json;
use callonce::domain::time::Timestamp;
use callonce::engine::clock::{Clock, Stopwatch};
use callonce::http::client::{Client, Intent, Retry, Submitted, Surroundings, Try};
use tokio::sync::Semaphore;

use crate::harness::{Home, Proxy, until};

const CALLS: usize = 1000;
/// At one time: enough for the server to batch them, and few enough for no try to wait long.
const AT_ONCE: usize = 32;

/// Where the client lives. Chance is no matter here: it only spreads pauses.
struct Here(Stopwatch);

impl Surroundings for Here {
    fn now(&mut self) -> Timestamp {
        Clock::System.now()
    }

    fn uptime(&mut self) -> Duration {
        self.0.elapsed()
    }

    fn chance(&mut self) -> f64 {
        0.5
    }

    fn tried(&mut self, _: &Try) {}
}

/// Sends a thousand calls through a proxy that does this to a share of the requests.
fn a_thousand_calls(mode: &[&str], share: &str) {
    let home = Home::new();
    let server = home.serve();
    let args = [mode, &["--only", "POST", "--share", share, "--seed", "7"]].concat();
    let proxy = Proxy::before(server.address, &args);
    let told = tokio::runtime::Runtime::new().expect("a runtime can be made").block_on(send_all(&proxy));
    assert_eq!(told.len(), CALLS, "a client was not told of its call");

    let client = server.client();
    until("all are done", || (client.stats()["by_status"]["succeeded"] == CALLS).then_some(()));
    assert_eq!(client.stats()["effects"], CALLS);
    let stored = home.db().rows("SELECT idem_key, call_id FROM calls ORDER BY idem_key");
    let told: Vec<_> = told.into_iter().map(|(key, call_id)| format!("{key}|{call_id}")).collect();
    assert_eq!(stored, told, "what the clients were told is not what is stored");
    let doubled = "SELECT call_id FROM effects GROUP BY call_id HAVING count(*) > 1";
    assert_eq!(home.db().rows(doubled), Vec::<String>::new());
    home.db().keeps_the_laws();

    // The faults were there: about that share of at least a thousand requests.
    let (exit, evidence) = proxy.stop();
    assert_eq!(exit.code, Some(0));
    let hit = evidence.iter().filter(|line| line["mode"] == mode[1]).count();
    let expected = share.parse::<f64>().expect("a number") * CALLS as f64;
    assert!(hit as f64 > expected / 2.0, "only {hit} of {} requests were hit", evidence.len());
}

/// What the clients were told: the call of each key.
async fn send_all(proxy: &Proxy) -> BTreeMap<String, String> {
    let client = Client::new(&format!("http://{}", proxy.address)).expect("an address");
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let sending = (0..CALLS).map(|number| {
        let (client, room) = (client.clone(), room.clone());
        tokio::spawn(async move {
            let _room = room.acquire().await.expect("it is never closed");
            let key = format!("careful-{number:04}");
            let intent = Intent {
                key: IdemKey::parse(&key).expect("a key"),
                tool: ToolName::parse("charge").expect("a name"),
                args: json::parse(br#"{"amount":100}"#).expect("JSON"),
                client_id: None,
                seq: None,
            };
            // So many that no share of faults outlasts them, and so soon that the test does not.
            let backoff = Backoff { base: Duration::from_millis(1), cap: Duration::from_millis(20) };
            let retry = Retry { retries: 40, timeout: Duration::from_secs(2), backoff, ..Retry::default() };
            match client.submit(&intent, retry, &mut Here(Stopwatch::start())).await {
                Ok(Submitted::Accepted(seen) | Submitted::Found(seen)) => {
                    let call: serde_json::Value = serde_json::from_str(&seen.body).expect("a call is JSON");
                    (key, call["call_id"].as_str().expect("it has an id").to_owned())
                }
                other => panic!("{key}: {other:?}"),
            }
        })
    });
    let mut told = BTreeMap::new();
    for sent in sending.collect::<Vec<_>>() {
        let (key, call_id) = sent.await.expect("no client panics");
        told.insert(key, call_id);
    }
    told
}

#[test]
fn when_all_passes() {
    a_thousand_calls(&["--mode", "pass"], "1");
}

#[test]
fn when_answers_are_dropped() {
    a_thousand_calls(&["--mode", "drop-response"], "0.3");
}

#[test]
fn when_the_network_falls_silent() {
    a_thousand_calls(&["--mode", "drop-response", "--hold"], "0.02");
}

#[test]
fn when_answers_come_late() {
    // Later than the client waits.
    a_thousand_calls(&["--mode", "delay-response", "--delay", "5s"], "0.02");
}

#[test]
fn when_requests_arrive_twice_at_once() {
    a_thousand_calls(&["--mode", "duplicate-request"], "0.5");
}

#[test]
fn when_requests_arrive_twice_in_a_row() {
    a_thousand_calls(&["--mode", "duplicate-request", "--second", "same-connection"], "0.5");
}

#[test]
fn when_requests_are_dropped() {
    a_thousand_calls(&["--mode", "drop-request"], "0.3");
}

#[test]
fn when_answers_are_cut_in_half() {
    a_thousand_calls(&["--mode", "truncate-response"], "0.3");
}

#[test]
fn when_connections_are_reset_on_the_request() {
    a_thousand_calls(&["--mode", "reset", "--on", "request"], "0.3");
}

#[test]
fn when_connections_are_reset_on_the_answer() {
    a_thousand_calls(&["--mode", "reset"], "0.3");
}

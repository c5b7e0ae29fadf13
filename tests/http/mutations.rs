//! Does any request at all, however broken, lead to a fault of the server?

use std::time::Duration;

use callonce::http::limits::Limits;
use callonce::store::sqlite::SqliteStore;
use callonce::testing::app::{App, Setup};
use callonce::testing::raw_http::request;

use super::{CHARGE, settle};

/// How many broken requests are sent: each kind of damage hits each kind of request some ten times.
const REQUESTS: usize = 900;
/// How many are sent at one time: most of the time goes into waiting for what a cut request lacks.
const CLIENTS: usize = 6;
/// How long the server waits for the rest of a request.
const SHORT: Duration = Duration::from_millis(200);

/// What is put where it does not belong.
const INSERTS: [&[u8]; 24] = [
    b"\0",
    b"\r\n",
    b"\n",
    b"\r\n\r\n",
    b" ",
    b"\t",
    b"%",
    b"%00",
    b"%zz",
    b"\xff",
    b"\xc3\x28",
    b"\"",
    b"'",
    b"\\",
    b"{",
    b"}",
    b"[[[[",
    b",",
    b";",
    b":",
    b"-1",
    b"99999999999999999999",
    b"Idempotency-Key: x\r\n",
    b"Transfer-Encoding: chunked\r\n",
];

/// Numbers that are the same each time, so that a request that does harm can be sent again.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Requests that are in order.
fn whole() -> Vec<Vec<u8>> {
    let json = "Content-Type: application/json";
    let post = |headers: &[&str], body: &str| {
        request("POST", "/v1/tool-calls", &[headers, &[json]].concat(), body.as_bytes())
    };
    let chunked = "POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nIdempotency-Key: c\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    vec![
        post(&["Idempotency-Key: known"], CHARGE),
        post(&["Idempotency-Key: \"known\"", "Prefer: wait=1"], CHARGE),
        post(
            &["Idempotency-Key: new", "Prefer: wait=0"],
            r#"{"tool":"send_email","args":{"to":["a@b"],"subject":"\u00e9\ud83d\ude00"},"client_id":"c","seq":12}"#,
        ),
        post(
            &["Idempotency-Key: deep"],
            r#"{"tool":"sleep","args":{"v":[[{"a":[1.5e-3,-0,null,true,""]}]]}}"#,
        ),
        post(&["Idempotency-Key: f"], r#"{"tool":"fail","args":{"retryable":true,"times":2,"message":"m"}}"#),
        post(&["Idempotency-Key: e", "Expect: 100-continue"], CHARGE),
        format!("{chunked}{:x}\r\n{CHARGE}\r\n0\r\n\r\n", CHARGE.len()).into_bytes(),
        request("GET", "/v1/tool-calls?status=failed&tool=fail&client_id=c&held=false&limit=5", &[], b""),
        request(
            "GET",
            "/v1/tool-calls/by-key/known",
            &["If-None-Match: \"3\", W/\"4\"", "Prefer: wait=0"],
            b"",
        ),
        request("GET", "/v1/tool-calls/c_0123456789abcdef0123456789abcdef/events", &[], b""),
        request("HEAD", "/stats", &[], b""),
        request("GET", "/metrics", &["Accept: */*"], b""),
        request("OPTIONS", "/v1/tool-calls", &["Origin: http://a"], b""),
    ]
}

/// Does some damage to a request.
fn damage(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    for _ in 0..1 + dice.below(3) {
        let at = dice.below(bytes.len());
        let end = at + dice.below((bytes.len() - at).min(40));
        match dice.below(7) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => bytes[at] = dice.next() as u8,
            2 => drop(bytes.splice(at..at, INSERTS[dice.below(INSERTS.len())].iter().copied())),
            3 => drop(bytes.drain(at..end)),
            4 => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
            5 => drop(bytes.splice(at..end, INSERTS[dice.below(INSERTS.len())].iter().copied())),
            _ => bytes.truncate(at + 1),
        }
    }
    bytes
}

/// Sends one client's share of broken requests; how each was answered, 0 where the server only closed.
fn send_damaged(app: &App<SqliteStore>, whole: &[Vec<u8>], client: usize) -> Vec<u16> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (client as u64 + 1));
    let send = |round: usize| {
        let bytes = damage(whole[round % whole.len()].clone(), &mut dice);
        let mut connection = app.connect();
        let mut answer = connection.try_exchange(&bytes);
        if answer.as_ref().is_some_and(|answer| answer.status == 100) {
            answer = connection.try_exchange(b"");
        }
        let Some(answer) = answer else { return 0 };
        assert!(answer.status < 500, "{}: {answer:?}", bytes.escape_ascii());
        if answer.status >= 400 && !answer.body.is_empty() {
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
            assert_eq!(answer.json()["status"], answer.status, "{}", bytes.escape_ascii());
        }
        answer.status
    };
    (0..REQUESTS / CLIENTS).map(send).collect()
}

#[test]
fn no_request_leads_to_a_fault_of_the_server() {
    let limits =
        Limits { header_timeout: SHORT, body_timeout: SHORT, linger_timeout: SHORT, ..Limits::default() };
    let app = App::start_with(Setup { limits, ..Setup::default() });
    let known = settle(&app, "known", CHARGE);
    let whole = whole();
    let answered: Vec<u16> = std::thread::scope(|scope| {
        let (app, whole) = (&app, &whole);
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| scope.spawn(move || send_damaged(app, whole, client))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no request led to a fault")).collect()
    });
    // The damage was of all kinds: some requests were still in order, some were not understood, some were cut.
    for status in [0, 200, 202, 400, 404, 405, 408, 409, 415] {
        assert!(answered.contains(&status), "no request was answered with {status}");
    }
    assert_eq!(app.get("/v1/tool-calls/by-key/known", &[]).json(), known);
    assert_eq!(app.get("/readyz", &[]).status, 200);
    let stats = app.get("/stats", &[]).json();
    let listed = app.get("/v1/tool-calls?limit=500", &[]).json()["calls"].as_array().map(Vec::len);
    assert_eq!(stats["calls"].as_u64(), listed.map(|listed| listed as u64));
}

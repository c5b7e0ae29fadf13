//! One client: a connection that it keeps while it can, one request at a time, HTTP written and read by hand.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Shared;
use crate::history::{Ask, Call, Line, Payload, Stats, Told};

/// How long a client waits for bytes, beyond what it asked the server to wait: a server that takes longer has not answered.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two tries to connect to a server that is not there.
const PAUSE: Duration = Duration::from_millis(1);

/// Speaks to the server at one address, whichever process that is at the time.
pub struct Client {
    address: SocketAddr,
    connection: Option<TcpStream>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }

    /// Asks, and writes down both that it does and what it is told. Nothing if there was no complete answer.
    pub fn performs(&mut self, ask: &Ask, shared: &Shared) -> Option<Told> {
        let mut connection = self.connection.take().unwrap_or_else(|| self.connects());
        let op = shared.history.sends(ask);
        let told = match exchange(&mut connection, ask) {
            Ok((told, keep)) => {
                self.connection = keep.then_some(connection);
                shared.history.writes(&Line::Answered { op, told: Box::new(told.clone()) });
                shared.knowledge.learns(ask, &told);
                Some(told)
            }
            Err(error) => {
                shared.history.writes(&Line::Unknown { op, why: error.to_string() });
                None
            }
        };
        shared.counts(told.as_ref());
        told
    }

    /// Tries until the server is there: a request that cannot be sent is none.
    fn connects(&self) -> TcpStream {
        loop {
            match TcpStream::connect(self.address) {
                Ok(connection) => {
                    connection.set_nodelay(true).expect("a socket has options");
                    return connection;
                }
                Err(_) => std::thread::park_timeout(PAUSE),
            }
        }
    }
}

/// Asks once, on a connection of its own: for stories that are told step by step.
pub fn ask_once(address: SocketAddr, ask: &Ask) -> io::Result<Told> {
    Ok(exchange(&mut TcpStream::connect(address)?, ask)?.0)
}

/// Sends a request and reads its answer to the end; with whether the connection can be used again.
fn exchange(connection: &mut TcpStream, ask: &Ask) -> io::Result<(Told, bool)> {
    let (request, wait) = request(ask);
    connection.set_read_timeout(Some(PATIENCE + Duration::from_secs(wait)))?;
    connection.write_all(request.as_bytes())?;
    let mut bytes = Vec::with_capacity(1024);
    let mut buffer = [0; 4096];
    loop {
        if let Some(answer) = complete(&bytes)? {
            return Ok(answer);
        }
        match connection.read(&mut buffer)? {
            0 => return Err(broken("the connection was closed")),
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

fn request(ask: &Ask) -> (String, u64) {
    let prefer = |wait: u64| match wait {
        0 => String::new(),
        wait => format!("Prefer: wait={wait}\r\n"),
    };
    let get =
        |path: &str, wait| (format!("GET {path} HTTP/1.1\r\nHost: callonce\r\n{}\r\n", prefer(wait)), wait);
    match ask {
        Ask::Post { key, payload: Payload { tool, args }, wait } => {
            let body = format!(r#"{{"tool":"{tool}","args":{args}}}"#);
            let head = format!(
                "POST /v1/tool-calls HTTP/1.1\r\nHost: callonce\r\nIdempotency-Key: {key}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n{}\r\n",
                body.len(),
                prefer(*wait)
            );
            (head + &body, *wait)
        }
        Ask::GetKey { key, wait } => get(&format!("/v1/tool-calls/by-key/{key}"), *wait),
        Ask::GetId { id, .. } => get(&format!("/v1/tool-calls/{id}"), 0),
        Ask::Stats => get("/stats", 0),
    }
}

fn broken(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.to_owned())
}

/// The answer that these bytes are, once they are all of it.
fn complete(bytes: &[u8]) -> io::Result<Option<(Told, bool)>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| broken("a head that is no text"))?;
    let body = &bytes[end + 4..];
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    let status: u16 = status.ok_or_else(|| broken("no status line"))?;
    let (mut length, mut replayed, mut keep) = (None, None, true);
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| broken("a header without a colon"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse::<usize>().ok(),
            "idempotent-replayed" => replayed = value.parse().ok(),
            "connection" => keep = !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    let length = length.ok_or_else(|| broken("an answer of no known length"))?;
    match body.len() {
        read if read < length => Ok(None),
        read if read > length => Err(broken("more than one answer")),
        _ => Ok(Some((told(status, replayed, body), keep))),
    }
}

/// What the body says; one that cannot be read says nothing, and the checker complains about that.
fn told(status: u16, replayed: Option<bool>, body: &[u8]) -> Told {
    let mut told = Told { status, replayed, call: None, code: None, stats: None };
    if (200..300).contains(&status) {
        told.call = serde_json::from_slice::<CallBody>(body).ok().map(Call::from);
        told.stats = serde_json::from_slice::<Stats>(body).ok();
    } else {
        told.code = serde_json::from_slice::<Problem>(body).ok().map(|problem| problem.error.code);
    }
    told
}

#[derive(Deserialize)]
struct CallBody {
    call_id: String,
    idem_key: String,
    status: String,
    #[serde(rename = "final")]
    is_final: bool,
    attempt: u64,
    version: u64,
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
    held: Option<Box<RawValue>>,
    tool: String,
    args: Box<RawValue>,
    effect_id: Option<String>,
}

impl From<CallBody> for Call {
    fn from(body: CallBody) -> Self {
        let raw = |value: Option<Box<RawValue>>| value.map(|value| value.get().to_owned());
        Self {
            id: body.call_id,
            key: body.idem_key,
            payload: Payload { tool: body.tool, args: body.args.get().to_owned() },
            status: body.status,
            is_final: body.is_final,
            attempt: body.attempt,
            version: body.version,
            result: raw(body.result),
            error: raw(body.error),
            held: raw(body.held),
            effect_id: body.effect_id,
        }
    }
}

#[derive(Deserialize)]
struct Problem {
    error: Code,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[test]
fn an_answer_counts_only_when_it_is_whole() {
    let body = r#"{"call_id":"c_1","idem_key":"k","status":"succeeded","final":true,"attempt":1,"result":{"b": 1,"a":2},
        "error":null,"query_url":"/","tool":"charge","args":{"amount":1},"client_id":null,"seq":null,
        "effect_id":"eff_1","held":null,"version":3,"created_at":"","updated_at":""}"#;
    let whole = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nidempotent-replayed: true\r\n\r\n{body}",
        body.len()
    );
    for end in 0..whole.len() {
        assert!(matches!(complete(&whole.as_bytes()[..end]), Ok(None)), "the first {end} bytes");
    }
    let (told, keep) = complete(whole.as_bytes()).expect("it is HTTP").expect("it is whole");
    let call = told.call.as_ref().expect("it shows a call");
    assert!(keep && told.status == 200 && told.replayed == Some(true));
    // The bytes as they were, in their order and with their spaces.
    assert_eq!(call.result.as_deref(), Some(r#"{"b": 1,"a":2}"#));
    assert_eq!((call.version, call.error.as_ref(), call.has_ended()), (3, None, true));
    assert!(complete(format!("{whole}x").as_bytes()).is_err());
}

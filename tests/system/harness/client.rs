//! A client that shares no code with the server: one request a connection, written and read by hand.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;

use serde_json::Value;

use super::patience::{PATIENCE, until};

/// Speaks to the server at one address.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    pub address: SocketAddr,
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// The bytes of a POST of a call, with header lines of one's own (each ended by CR LF).
pub fn post_text(key: &str, headers: &str, body: &str) -> String {
    format!(
        "POST /v1/tool-calls HTTP/1.1\r\nHost: callonce\r\nIdempotency-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
}

impl Client {
    pub fn of(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Sends a call and returns the answer.
    pub fn post(&self, key: &str, body: &str) -> Answer {
        self.try_post(key, body).unwrap_or_else(|error| panic!("POST with {key}: {error}"))
    }

    /// Sends a call to a server that may die over it.
    pub fn try_post(&self, key: &str, body: &str) -> io::Result<Answer> {
        self.send(&post_text(key, "", body))
    }

    /// Sends a call and waits until it settles: until the answer is not a 202 any more.
    pub fn settle(&self, key: &str, body: &str) -> Answer {
        let text = post_text(key, "Prefer: wait=60\r\n", body);
        self.send(&text).unwrap_or_else(|error| panic!("POST with {key}: {error}"))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.try_get(path).unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    pub fn try_get(&self, path: &str) -> io::Result<Answer> {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: callonce\r\nConnection: close\r\n\r\n"))
    }

    /// The call that a key (of letters, digits and dashes) leads to.
    pub fn by_key(&self, key: &str) -> Answer {
        self.get(&format!("/v1/tool-calls/by-key/{key}"))
    }

    /// Looks at a key's call until it has this status.
    pub fn reaches(&self, key: &str, status: &str) -> Answer {
        until(&format!("the call of {key} is {status}"), || {
            let answer = self.by_key(key);
            (answer.status == 200 && answer.text("status") == status).then_some(answer)
        })
    }

    pub fn stats(&self) -> Value {
        self.get("/stats").json()
    }

    pub fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE + PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Sends these bytes and reads one answer to its end.
    pub fn send(&self, request: &str) -> io::Result<Answer> {
        Answer::read(&self.talk(request.as_bytes())?)
    }

    /// Sends these bytes and returns all that comes back until the connection is closed.
    pub fn talk(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = self.connect()?;
        stream.write_all(request)?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Answer {
    /// The answer that these bytes are, if they are one and it is whole.
    pub fn read(bytes: &[u8]) -> io::Result<Self> {
        let broken = |problem: &str| io::Error::new(io::ErrorKind::UnexpectedEof, problem.to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| broken("not UTF-8"))?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| broken("no end of the head"))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or_else(|| broken("no status"))?;
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        let answer = Self { status, headers, body: body.to_owned() };
        let length: Option<usize> = answer.header("content-length").and_then(|length| length.parse().ok());
        match length {
            Some(length) if length == body.len() => Ok(answer),
            _ => Err(broken("a part of the body is missing")),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// A member of the body that is a text.
    pub fn text(&self, member: &str) -> String {
        let json = self.json();
        json[member].as_str().unwrap_or_else(|| panic!("no text `{member}` in {json}")).to_owned()
    }

    pub fn call_id(&self) -> String {
        self.text("call_id")
    }

    /// The stable code, if this is an error.
    pub fn code_if_any(&self) -> String {
        if self.status < 300 { String::new() } else { self.code() }
    }

    /// The stable code of an error.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Runs `act` on so many threads, which all begin at the same moment; each is told its number.
pub fn all_at_once<T: Send>(threads: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|number| {
                let (barrier, act) = (&barrier, &act);
                scope.spawn(move || {
                    barrier.wait();
                    act(number)
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("no client panics")).collect()
    })
}

//! HTTP/1.1 byte by byte: a client that sends exactly what a test says and reads exactly what comes back.
#![expect(clippy::missing_panics_doc, reason = "a test kit panics where a test is to fail")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// When to give up: nothing that works takes this long.
const ABSURD: Duration = Duration::from_secs(120);
/// How much is read at once, in bytes.
const PIECE: usize = 64 * 1024;

/// A request as bytes, with `Host` and the length of its body, if it has one.
pub fn request(method: &str, path: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
    for header in headers {
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    if !body.is_empty() || method == "POST" {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// A whole response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// As in the status line.
    pub status: u16,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// What came after the head.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header that is there at most once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values =
            self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} is there twice: {self:?}");
        value
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("bodies are UTF-8")
    }

    /// The body as JSON, its members in the order in which they came.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(ABSURD)).expect("not zero");
        stream.set_write_timeout(Some(ABSURD)).expect("not zero");
        stream.set_nodelay(true).expect("it is connected");
        Self { stream, unread: Vec::new() }
    }

    /// Sends these bytes and nothing else.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).expect("the server reads what is sent");
    }

    /// Sends a request and reads its answer.
    pub fn exchange(&mut self, request: impl AsRef<[u8]>) -> Answer {
        let request = request.as_ref();
        self.send(request);
        self.next(!request.starts_with(b"HEAD ")).expect("the server answers before it closes")
    }

    /// The next answer, to a request other than HEAD.
    pub fn answer(&mut self) -> Answer {
        self.next(true).expect("the server answers before it closes")
    }

    /// Sends what may be no request at all; the answer, or nothing if the server closed without one.
    pub fn try_exchange(&mut self, bytes: impl AsRef<[u8]>) -> Option<Answer> {
        // The server may have closed in the middle of it; what it said before that can still be read.
        let _ = self.stream.write_all(bytes.as_ref());
        self.next(!bytes.as_ref().starts_with(b"HEAD "))
    }

    /// Whether the server closes and says nothing more.
    pub fn is_closed(&mut self) -> bool {
        !self.read_more() && self.unread.is_empty()
    }

    fn next(&mut self, has_body: bool) -> Option<Answer> {
        let end_of_head = loop {
            match self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(at) => break at,
                None if self.read_more() => {}
                None if self.unread.is_empty() => return None,
                None => panic!("the head of an answer is cut: {:?}", String::from_utf8_lossy(&self.unread)),
            }
        };
        let rest = self.unread.split_off(end_of_head + 4);
        let head = std::mem::replace(&mut self.unread, rest);
        let head = std::str::from_utf8(&head[..end_of_head]).expect("our heads are ASCII");
        let (status_line, lines) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = status_line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status = status.and_then(|status| status.parse().ok());
        let headers = lines.split("\r\n").filter(|line| !line.is_empty()).map(|line| {
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no header: {line}"));
            (name.to_ascii_lowercase(), value.trim().to_owned())
        });
        let mut answer = Answer {
            status: status.unwrap_or_else(|| panic!("no status line: {status_line}")),
            headers: headers.collect(),
            body: Vec::new(),
        };
        if has_body && answer.status >= 200 && answer.status != 304 {
            let length = answer.header("content-length").expect("answers say how long they are");
            let length = length.parse().expect("a length is a number");
            while self.unread.len() < length {
                assert!(self.read_more(), "the body is cut: {answer:?}");
            }
            let rest = self.unread.split_off(length);
            answer.body = std::mem::replace(&mut self.unread, rest);
        }
        Some(answer)
    }

    /// Reads a piece; false at the end.
    fn read_more(&mut self) -> bool {
        let before = self.unread.len();
        self.unread.resize(before + PIECE, 0);
        let read = loop {
            match self.stream.read(&mut self.unread[before..]) {
                Ok(read) => break read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A reset is an end too.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    break 0;
                }
                Err(error) => panic!("the server does not answer: {error}"),
            }
        };
        self.unread.truncate(before + read);
        read > 0
    }
}

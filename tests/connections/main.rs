//! Does a connection keep its limits, whatever bytes a client sends and however slowly? A small application behind the real accept loop.
//! Clients are plain sockets, so that each byte and its order is ours. Nothing here waits for time to pass: a test
//! waits until the server has done what it must, and fails if that takes absurdly long.
mod bodies;
mod descriptors;
mod drain;
mod full;
mod heads;
mod patience;

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use callonce::http::accept::{Drained, serve};
use callonce::http::limits::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A limit that a test waits for: as short as the machine lets it be.
const SHORT: Duration = Duration::from_millis(50);
/// When to give up: nothing that works takes this long.
const ABSURD: Duration = Duration::from_secs(60);

/// Waits for a fact.
async fn fact<T>(what: &str, happens: impl Future<Output = T>) -> T {
    match tokio::time::timeout(ABSURD, happens).await {
        Ok(value) => value,
        Err(_) => panic!("did not happen: {what}"),
    }
}

struct Server {
    address: SocketAddr,
    shutdown: CancellationToken,
    serving: JoinHandle<Drained>,
}

impl Server {
    async fn start(app: Router, limits: Limits) -> Self {
        Self::start_with_drain(app, limits, ABSURD).await
    }

    async fn start_with_drain(app: Router, limits: Limits, drain: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        Self::start_on(listener, app, limits, drain)
    }

    fn start_on(listener: TcpListener, app: Router, limits: Limits, drain: Duration) -> Self {
        let address = listener.local_addr().expect("it is bound");
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, app, limits, shutdown.clone(), drain));
        Self { address, shutdown, serving }
    }

    async fn client(&self) -> Client {
        let stream = TcpStream::connect(self.address).await.expect("the server listens");
        Client { stream, unread: Vec::new() }
    }

    async fn stop(self) -> Drained {
        self.shutdown.cancel();
        fact("serving ends", self.serving).await.expect("the accept loop does not panic")
    }
}

struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    /// In lower case, with its line ends.
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The stable code of a refusal, which also proves that the body is a problem document.
    fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let document: serde_json::Value =
            serde_json::from_slice(&self.body).expect("a problem document is JSON");
        assert_eq!(document["status"], self.status);
        document["error"]["code"].as_str().expect("a refusal has a code").to_owned()
    }
}

impl Client {
    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).await.expect("the server still reads");
    }

    async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        fact("the server takes what is sent", self.stream.write_all(bytes.as_ref())).await
    }

    async fn get(&mut self, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")).await;
        self.answer().await
    }

    /// The next answer, which must have a `Content-Length`.
    async fn answer(&mut self) -> Answer {
        let head =
            self.until(|bytes| bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)).await;
        let head = String::from_utf8(head).expect("heads are ASCII").to_ascii_lowercase();
        let status = head[9..12].parse().expect("a status line");
        let mut answer = Answer { status, head, body: Vec::new() };
        if status != 100 {
            let length: usize = answer.header("content-length").unwrap_or("0").parse().expect("a length");
            answer.body = self.until(|bytes| (bytes.len() >= length).then_some(length)).await;
        }
        answer
    }

    async fn until(&mut self, end: impl Fn(&[u8]) -> Option<usize>) -> Vec<u8> {
        loop {
            if let Some(end) = end(&self.unread) {
                let rest = self.unread.split_off(end);
                return std::mem::replace(&mut self.unread, rest);
            }
            let read = fact("the server answers", self.stream.read_buf(&mut self.unread)).await;
            let read = read.expect("the connection is not reset");
            assert_ne!(read, 0, "the server closed after {:?}", String::from_utf8_lossy(&self.unread));
        }
    }

    /// All that comes until the server closes, cleanly or not.
    async fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.unread);
        // A reset is an end too.
        let _ = fact("the server closes", self.stream.read_to_end(&mut rest)).await;
        rest
    }

    async fn is_closed_in_silence(&mut self) {
        assert_eq!(String::from_utf8_lossy(&self.rest().await), "");
    }
}

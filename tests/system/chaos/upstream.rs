//! A service that answers as it is told, keeps its connections, and hands over every request with the connection it came on.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::harness::PATIENCE;

/// A request, as the service saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// From 0, in the order in which they were accepted.
    pub connection: usize,
    /// The request line and the headers, in lower case.
    pub head: Vec<String>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// The service.
pub struct Upstream {
    pub address: SocketAddr,
    seen: Receiver<Seen>,
}

/// A whole answer.
pub fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Kept: yes\r\n\r\n{body}", body.len()).into_bytes()
}

impl Upstream {
    /// Answers each request with what this makes of it; with nothing, it closes the connection.
    pub fn answering(answer: impl Fn(&Seen) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (tell, seen) = channel();
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for (connection, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                let (answer, tell) = (answer.clone(), tell.clone());
                std::thread::spawn(move || serve(connection, stream, &*answer, &tell));
            }
        });
        Self { address, seen }
    }

    /// The next request that arrived.
    pub fn sees(&self) -> Seen {
        self.seen.recv_timeout(PATIENCE).expect("a request arrives")
    }

    /// Those that have arrived and were not taken yet.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.try_iter().collect()
    }
}

fn serve(connection: usize, stream: TcpStream, answer: &dyn Fn(&Seen) -> Vec<u8>, tell: &Sender<Seen>) {
    let mut from = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    let mut to = stream;
    while let Some(seen) = read(connection, &mut from) {
        let bytes = answer(&seen);
        let is_last = seen.header("connection") == Some("close") || bytes.is_empty();
        let _ = tell.send(seen);
        if to.write_all(&bytes).is_err() || is_last {
            return;
        }
    }
}

fn read(connection: usize, from: &mut impl BufRead) -> Option<Seen> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_ascii_lowercase()),
        }
    }
    let mut seen = Seen { connection, head, body: Vec::new() };
    if seen.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut size = String::new();
            from.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim_end(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            from.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            seen.body.extend_from_slice(&chunk[..size]);
        }
    } else {
        let length = seen.header("content-length").map_or(0, |length| length.parse().expect("a number"));
        seen.body.resize(length, 0);
        from.read_exact(&mut seen.body).ok()?;
    }
    Some(seen)
}

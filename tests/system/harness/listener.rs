//! A server that does as it is told, and writes down what it is sent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// One request a connection, each treated as a script says.
pub struct Listener {
    pub address: SocketAddr,
    requests: Receiver<Request>,
}

/// What is done to a request that was read.
#[derive(Debug, Clone)]
pub enum Reply {
    /// These bytes, and the end of the connection.
    Answer(String),
    /// The end of the connection.
    HangUp,
    /// Nothing, for as long as the listener lives.
    Silence,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method and path.
    pub line: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Request {
    /// The values of all header lines with this name.
    pub fn header(&self, name: &str) -> Vec<&str> {
        let of_name = self.headers.iter().filter(|(known, _)| known == name);
        of_name.map(|(_, value)| value.as_str()).collect()
    }

    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Self { line, headers, body: body.to_owned() }
    }
}

impl Listener {
    /// Answers every request with `answer`, byte for byte.
    pub fn answering(answer: impl Into<String>) -> Self {
        let answer = answer.into();
        Self::serving(move |_request| Reply::Answer(answer.clone()))
    }

    /// Goes through these replies, and stays with the last.
    pub fn in_turn(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: Vec<_> = replies.into_iter().collect();
        replies.reverse();
        Self::serving(move |_request| match replies.len() {
            0 => Reply::HangUp,
            1 => replies[0].clone(),
            _ => replies.pop().unwrap_or(Reply::HangUp),
        })
    }

    /// Treats each request as `script` says.
    pub fn serving(mut script: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (tell, requests) = channel();
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for mut client in listener.incoming().map_while(Result::ok) {
                let request = Request::of(&read_request(&mut client));
                let reply = script(&request);
                if tell.send(request).is_err() {
                    return;
                }
                match reply {
                    // The client may have gone, and then it cannot be written to.
                    Reply::Answer(answer) => drop(client.write_all(answer.as_bytes())),
                    Reply::HangUp => {}
                    Reply::Silence => silent.push(client),
                }
            }
        });
        Self { address, requests }
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was sent so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }
}

/// A request's head and as much body as it announces.
fn read_request(client: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break;
            }
        }
        match client.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

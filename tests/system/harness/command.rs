//! The commands as people run them, and a server that only writes down what it is sent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

use super::server::PROGRAM;

/// What a command did.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the program with these arguments, in an environment that says nothing else than this.
pub fn callonce_with(env: &[(&str, &str)], args: &[&str]) -> Done {
    let mut command = Command::new(PROGRAM);
    command.env_clear().envs(env.iter().copied()).args(args);
    let output = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("it speaks UTF-8");
    Done { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the program with these arguments, in an empty environment.
pub fn callonce(args: &[&str]) -> Done {
    callonce_with(&[], args)
}

impl Done {
    /// The one JSON document on stdout.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// Answers every request alike, and hands over what it was sent.
pub struct Listener {
    pub address: SocketAddr,
    requests: Receiver<String>,
}

impl Listener {
    /// Answers with `answer`, byte for byte, and closes the connection.
    pub fn answering(answer: impl AsRef<[u8]> + Send + 'static) -> Self {
        Self::doing(move |mut client| {
            let _ = client.write_all(answer.as_ref());
        })
    }

    /// Reads each request and then does this with its client.
    pub fn doing(with: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (tell, requests) = channel();
        std::thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                if tell.send(read_request(&mut client)).is_err() {
                    return;
                }
                with(client);
            }
        });
        Self { address, requests }
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was sent so far.
    pub fn requests(&self) -> Vec<String> {
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

//! A TCP proxy that lets a request through and holds the answer, so that its client gives up before it comes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::client::Client;
use super::patience::PATIENCE;

/// Holds the answer to one request until it is told to let go.
pub struct HoldingProxy {
    pub address: SocketAddr,
    /// Hears of the answer once it is there, and held.
    held: Receiver<Vec<u8>>,
    release: Sender<()>,
    /// What the client did with the answer in the end.
    thread: JoinHandle<io::Result<()>>,
}

impl HoldingProxy {
    pub fn before(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (tell, held) = channel();
        let (release, released) = channel();
        let thread = std::thread::spawn(move || {
            let (client, _) = listener.accept()?;
            let mut server = TcpStream::connect(upstream)?;
            pass_on(client.try_clone()?, server.try_clone()?);
            let mut answer = Vec::new();
            server.read_to_end(&mut answer)?;
            let _ = tell.send(answer.clone());
            // Either word lets go: to be told so, or that nobody can tell any more.
            let _ = released.recv();
            let mut client = client;
            client.write_all(&answer)
        });
        Self { address, held, release, thread }
    }

    pub fn client(&self) -> Client {
        Client::of(self.address)
    }

    /// Waits until the server has answered; the client has not heard of it.
    pub fn answer(&self) -> Vec<u8> {
        self.held.recv_timeout(PATIENCE).expect("the server answers")
    }

    /// Lets the answer go to whoever still waits for it.
    pub fn release(self) {
        drop(self.release);
        // The client may have gone, and then it cannot be written to.
        let _ = self.thread.join().expect("the proxy does not panic");
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        // The client hung up: the server hears of it, and may not care.
        let _ = to.shutdown(Shutdown::Write);
    });
}

//! A crowd of bad clients: idle connections, heads and bodies that never end, readers that hardly read. Whoever is cut off comes
//! again, so the crowd keeps its size for as long as it lives.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::time::{interval, sleep};

/// How many of each.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sizes {
    /// Connections on which nothing is ever sent.
    pub idle: usize,
    /// Requests whose head stops half way.
    pub half_heads: usize,
    /// Requests whose body stops half way.
    pub half_bodies: usize,
    /// Clients that ask for pages of calls, one after the other, and read a byte now and then.
    pub slow_readers: usize,
}

impl Sizes {
    /// All of them.
    pub fn total(self) -> usize {
        self.idle + self.half_heads + self.half_bodies + self.slow_readers
    }
}

/// A crowd, gone when this is dropped.
pub struct Crowd {
    _runtime: Runtime,
    there: Arc<AtomicUsize>,
}

/// Before a client that was cut off comes again.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two bytes that a slow reader takes.
const BYTE: Duration = Duration::from_millis(250);
/// What a slow reader lets its own kernel hold for it.
const RECEIVE_BUFFER: u32 = 4096;
/// How many pages a slow reader asks for at once: more than the kernels' buffers hold.
const PAGES: usize = 8;

#[derive(Debug, Clone, Copy)]
enum Manner {
    Idle,
    HalfHead,
    HalfBody,
    SlowReader,
}

impl Crowd {
    /// Sends a crowd to `address`, on a thread of its own.
    ///
    /// # Errors
    /// If no thread can be had.
    pub fn gather(address: SocketAddr, sizes: Sizes) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let there = Arc::new(AtomicUsize::new(0));
        for (manner, count) in [
            (Manner::Idle, sizes.idle),
            (Manner::HalfHead, sizes.half_heads),
            (Manner::HalfBody, sizes.half_bodies),
            (Manner::SlowReader, sizes.slow_readers),
        ] {
            for _ in 0..count {
                runtime.spawn(behave(address, manner, there.clone()));
            }
        }
        Ok(Self { _runtime: runtime, there })
    }

    /// How many have done what they came for, and hold on to it.
    pub fn there(&self) -> usize {
        self.there.load(Ordering::SeqCst)
    }
}

async fn behave(address: SocketAddr, manner: Manner, there: Arc<AtomicUsize>) {
    loop {
        if let Ok(mut stream) = begin(address, manner).await {
            there.fetch_add(1, Ordering::SeqCst);
            hold_on(&mut stream, manner).await;
            there.fetch_sub(1, Ordering::SeqCst);
        }
        sleep(PAUSE).await;
    }
}

async fn begin(address: SocketAddr, manner: Manner) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if matches!(manner, Manner::SlowReader) {
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    }
    let mut stream = socket.connect(address).await?;
    let post = "POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nIdempotency-Key: half\r\nContent-Type: application/json\r\n";
    match manner {
        Manner::Idle => {}
        Manner::HalfHead => stream.write_all(&post.as_bytes()[..post.len() / 2]).await?,
        Manner::HalfBody => {
            let half = format!("{post}Content-Length: 40000\r\n\r\n{}", " ".repeat(20_000));
            stream.write_all(half.as_bytes()).await?;
        }
        Manner::SlowReader => {
            let pages = "GET /v1/tool-calls?limit=500 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(PAGES);
            stream.write_all(pages.as_bytes()).await?;
            stream.read_exact(&mut [0]).await?;
        }
    }
    Ok(stream)
}

/// Until the server has had enough.
async fn hold_on(stream: &mut TcpStream, manner: Manner) {
    let mut byte = [0];
    let mut now_and_then = interval(BYTE);
    loop {
        if matches!(manner, Manner::SlowReader) {
            now_and_then.tick().await;
        }
        match stream.read(&mut byte).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
    }
}

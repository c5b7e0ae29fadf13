//! Clients without manners: requests that are due by the clock, sent whether or not earlier ones were taken, and no pause after a
//! refusal. `callonce bench` has manners: it waits as long as it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::engine::clock::Stopwatch;
use crate::engine::ids;

/// How often requests become due.
const TICK: Duration = Duration::from_millis(1);
/// How long a load lasts before it is counted, once all are connected: in it, queues get as long as they will be.
const WARM_UP: Duration = Duration::from_secs(2);
/// How long all may take to connect.
const CONNECTING: Duration = Duration::from_secs(20);
/// What is read at once: every answer to a small call.
const ANSWER: usize = 4096;

/// What came of a load.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Requests that were written.
    pub sent: AtomicU64,
    /// Answered with 200 or 202.
    pub accepted: AtomicU64,
    /// Answered with 429 or 503, and `Retry-After`.
    pub refused: AtomicU64,
    /// Answered otherwise.
    pub other: AtomicU64,
    /// Connections that ended, or were not made.
    pub broken: AtomicU64,
    /// Connections that were made.
    connected: AtomicU64,
}

impl Outcome {
    /// Forgets what was counted so far.
    fn forget(&self) {
        for counter in [&self.sent, &self.accepted, &self.refused, &self.other, &self.broken] {
            counter.store(0, Ordering::Relaxed);
        }
    }

    fn count(&self, answer: &[u8]) {
        let status = answer.get(9..12);
        let refused = matches!(status, Some(b"429" | b"503"))
            && answer.windows(13).any(|part| part.eq_ignore_ascii_case(b"\nretry-after:"));
        let counter = match status {
            Some(b"200" | b"202") => &self.accepted,
            _ if refused => &self.refused,
            _ => &self.other,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends distinct small calls to `address`, `rate` a second, over so many connections, for so long and a warm-up before it. Returns
/// what came of it, and how long it was counted.
///
/// # Errors
/// If no thread or timer can be had.
pub fn run(
    address: SocketAddr,
    rate: u64,
    connections: usize,
    time: Duration,
) -> std::io::Result<(Arc<Outcome>, Duration)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = Arc::new(Outcome::default());
    let elapsed = runtime.block_on(async {
        let due = Arc::new(Semaphore::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..connections)
            .map(|_| tokio::spawn(client(address, due.clone(), outcome.clone(), over.clone())))
            .collect();
        let mut ticks = tokio::time::interval(TICK);
        let connecting = Stopwatch::start();
        while outcome.connected.load(Ordering::Relaxed) < connections as u64
            && connecting.elapsed() < CONNECTING
        {
            ticks.tick().await;
        }
        let (watch, mut counted) = (Stopwatch::start(), None);
        let mut given = 0;
        while watch.elapsed() < WARM_UP + time {
            ticks.tick().await;
            if counted.is_none() && watch.elapsed() >= WARM_UP {
                outcome.forget();
                counted = Some(Stopwatch::start());
            }
            let owed = (rate as f64 * watch.elapsed().as_secs_f64()) as u64;
            // Those that nobody was free to send are not piled up: the next second is as bad as this one, not worse.
            let room = (connections as u64).saturating_sub(due.available_permits() as u64);
            due.add_permits(usize::try_from((owed - given).min(room)).unwrap_or(0));
            given = owed;
        }
        over.store(true, Ordering::Relaxed);
        let elapsed = counted.map_or(time, |counted| counted.elapsed());
        for client in clients {
            client.abort();
        }
        elapsed
    });
    Ok((outcome, elapsed))
}

async fn client(address: SocketAddr, due: Arc<Semaphore>, outcome: Arc<Outcome>, over: Arc<AtomicBool>) {
    while !over.load(Ordering::Relaxed) {
        if converse(address, &due, &outcome).await.is_err() {
            outcome.broken.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(TICK * 100).await;
        }
    }
}

/// Request after request on one connection.
async fn converse(address: SocketAddr, due: &Semaphore, outcome: &Outcome) -> std::io::Result<()> {
    const BODY: &str = r#"{"tool":"charge","args":{"amount":1}}"#;
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    outcome.connected.fetch_add(1, Ordering::Relaxed);
    let mut answer = [0; ANSWER];
    loop {
        due.acquire().await.map_err(std::io::Error::other)?.forget();
        let key = ids::key();
        let request = format!(
            "POST /v1/tool-calls HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{BODY}",
            BODY.len()
        );
        stream.write_all(request.as_bytes()).await?;
        outcome.sent.fetch_add(1, Ordering::Relaxed);
        // Head and body of a small answer are written at once.
        match stream.read(&mut answer).await? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => outcome.count(&answer[..read]),
        }
    }
}

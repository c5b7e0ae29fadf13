//! A proxy that fails on purpose, for any HTTP/1.1 service: does a client that is treated like this double an effect?
//!
//! It sees no engine. A request passes, in this order:
//!
//! | file | answers |
//! |---|---|
//! | `socket` | how is a connection cut, in ways that HTTP does not know? |
//! | [`pick`] | is this request one of those? |
//! | [`mode`] | what is done to it? |
//! | `exchange` | what is sent to upstream, how often, and what comes of it? |
//! | `downstream` | what is the client given, and how does its connection end? |
//! | [`upstream`] | where is the service, and what of a request concerns it? |
//! | [`body`] | what of a body passes? |
//! | [`evidence`] | what did each side see? |

pub mod body;
mod downstream;
pub mod evidence;
mod exchange;
pub mod mode;
pub mod pick;
mod socket;
pub mod upstream;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::evidence::Witness;
use self::exchange::Proxy;
use self::mode::Mode;
use self::pick::{Only, Picker, Which};
use self::socket::{Cutter, Socket};
use self::upstream::Upstream;

/// Client connections at one time: up to three files each with those to upstream, within what most systems let a process
/// have if it asks. More wait in the listen queue.
const MAX_CONNECTIONS: usize = 1_000;
/// Pause after an `accept` that failed for want of something, such as a file descriptor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a proxy does.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The service behind it.
    pub upstream: Upstream,
    /// What is done.
    pub mode: Mode,
    /// To which requests.
    pub which: Which,
    /// Of which at all.
    pub only: Only,
}

/// Serves on `listener` until `stop` is cancelled, then cuts what is under way. When it returns, all evidence is told.
pub async fn serve<W: Witness>(
    listener: TcpListener,
    settings: Settings,
    witness: Arc<W>,
    stop: CancellationToken,
) {
    let Settings { upstream, mode, which, only } = settings;
    let under_way = TaskTracker::new();
    let proxy = Arc::new(Proxy {
        upstream: Arc::new(upstream),
        mode,
        picker: Picker::new(which, only),
        witness,
        stop: stop.clone(),
        under_way: under_way.clone(),
        requests: AtomicU64::new(0),
    });
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let accepting = async {
        loop {
            let permit = Arc::clone(&room).acquire_owned().await;
            match listener.accept().await {
                Ok((stream, _)) => {
                    let talk = talk(Arc::clone(&proxy), stream);
                    let stop = stop.clone();
                    under_way.spawn(async move {
                        stop.run_until_cancelled_owned(talk).await;
                        drop(permit);
                    });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    };
    stop.run_until_cancelled(accepting).await;
    under_way.close();
    under_way.wait().await;
}

/// Serves one client until it goes or is cut off.
async fn talk<W: Witness>(proxy: Arc<Proxy<W>>, stream: TcpStream) {
    // Whole messages are written at once; it would be the kernel's delay, not the one that was asked for.
    let _ = stream.set_nodelay(true);
    let cutter = Cutter::default();
    let socket = Socket::new(stream, cutter.clone());
    let service = service_fn(|request| Arc::clone(&proxy).handle(request, cutter.clone()));
    let connection =
        http1::Builder::new().header_read_timeout(None).serve_connection(TokioIo::new(socket), service);
    tokio::select! {
        biased;
        () = cutter.cut() => {}
        // How a client leaves is its own business, and is in the evidence of its request.
        _ = connection => {}
    }
}

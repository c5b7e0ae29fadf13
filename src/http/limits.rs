//! What a client may take, in time and in space, before the server stops waiting for it.

use std::time::Duration;

/// From the first byte of a request's head to its last. A head is a few hundred bytes that clients write at once, so
/// ten seconds only pass on a dead link or when somebody holds the connection on purpose.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// From the first look at a request's body to its last byte: a body of [`MAX_BODY_BYTES`] then needs 35 KB/s.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// With no request under way. Longer than the pauses of a client that polls, shorter than the minutes after which
/// firewalls and load balancers forget a quiet connection.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// From the moment a client is too slow to take an answer until it has all of it. The kernel buffers megabytes before
/// that moment, so this only passes for a client that has stopped reading.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the server goes on reading what a client still sends after its answer is out. Closing at once would reset
/// the connection, and a client that writes all before it reads would see the reset in place of the answer.
pub const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// How many bytes are read and thrown away in that time: sixteen times the largest body that is accepted.
pub const LINGER_BYTES: usize = 16 * 1024 * 1024;
/// Connections served at one time: above the 10,000 idle clients the server is meant to carry, and cheap, because a
/// connection holds no buffer before its first byte.
pub const MAX_CONNECTIONS: usize = 12_000;
/// Connections above that number which are being told so at one time. The rest wait in the listen queue.
pub const MAX_REFUSALS: usize = 256;
/// How long a connection above the cap may take over its one request and its 503.
pub const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);
/// A request's head: sixty times a usual one, and eight times what most proxies let through.
pub const MAX_HEADER_BYTES: usize = 64 * 1024;
/// A request's body, as the API promises it.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// What a body may hold in memory before it draws on [`BODY_MEMORY_BYTES`]: nearly every call fits, so that nobody
/// who uploads large bodies slowly can shut out a small one.
pub const SMALL_BODY_BYTES: usize = 64 * 1024;
/// What all bodies that are still arriving may hold together, beyond [`SMALL_BODY_BYTES`] each. Without it, 12,000
/// slow uploads would hold 12 GB.
pub const BODY_MEMORY_BYTES: usize = 256 * 1024 * 1024;
/// Pages of calls that are made at one time. A page takes the threads milliseconds, where a call takes them microseconds: fifty
/// clients who each ask for one would else all be served before the next call. The rest wait their turn.
pub const PAGES_AT_ONCE: usize = 2;

/// The limits of one server. [`Limits::default`] is what `serve` uses; tests shorten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// First to last byte of a request's head. Then the connection is closed, with no answer.
    pub header_timeout: Duration,
    /// First look at the body to its last byte. Then 408.
    pub body_timeout: Duration,
    /// No request under way. Then the connection is closed.
    pub idle_timeout: Duration,
    /// An answer the client does not take. Then the connection is closed.
    pub write_timeout: Duration,
    /// Input that is still read after the last answer. Then the connection is closed.
    pub linger_timeout: Duration,
    /// The most input, in bytes, that is read after the last answer.
    pub linger_bytes: usize,
    /// Connections served at one time. The next ones get a 503.
    pub max_connections: usize,
    /// Connections that are getting that 503 at one time. The next ones wait to be accepted.
    pub max_refusals: usize,
    /// A request's head in bytes, at least 8192. A longer one is a 431.
    pub max_header_bytes: usize,
    /// A request's body in bytes. A longer one is a 413.
    pub max_body_bytes: usize,
    /// What one body may hold, in bytes, outside of `body_memory_bytes`.
    pub small_body_bytes: usize,
    /// What all arriving bodies may hold beyond that, in bytes. The next one is a 503.
    pub body_memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: HEADER_TIMEOUT,
            body_timeout: BODY_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            write_timeout: WRITE_TIMEOUT,
            linger_timeout: LINGER_TIMEOUT,
            linger_bytes: LINGER_BYTES,
            max_connections: MAX_CONNECTIONS,
            max_refusals: MAX_REFUSALS,
            max_header_bytes: MAX_HEADER_BYTES,
            max_body_bytes: MAX_BODY_BYTES,
            small_body_bytes: SMALL_BODY_BYTES,
            body_memory_bytes: BODY_MEMORY_BYTES,
        }
    }
}

impl Limits {
    /// For a connection above the cap: it is only told so, and may not take its time over that.
    pub(super) fn of_a_refusal(mut self) -> Self {
        for timeout in [
            &mut self.header_timeout,
            &mut self.body_timeout,
            &mut self.idle_timeout,
            &mut self.write_timeout,
            &mut self.linger_timeout,
        ] {
            *timeout = REFUSAL_TIMEOUT.min(*timeout);
        }
        self
    }
}

//! Speaks HTTP: bytes from strangers → request → handler → engine → answer.
//!
//! A request passes, in this order:
//!
//! | file | answers |
//! |---|---|
//! | [`accept`] | which connections are let in, what happens when too many come, how serving ends |
//! | `connection` | how long a client may take over each step of an exchange, on one connection |
//! | [`framing`] | is it clear where the request ends? |
//! | [`host`] | was this request meant for a server that speaks HTTP/1.1? |
//! | [`router`] | which handler is it for? |
//! | [`body`] | is the body here, in time, and small enough? |
//! | [`idempotency_key`] [`prefer`] [`etag`] | what do the request's headers say? |
//! | `content_type` | what does the body say it is? |
//! | [`wire`] | what does the body say, and how is a call written? |
//! | [`settlement`] | what does somebody say of a held call? |
//! | [`error`] | how does a refusal look? |
//!
//! A handler sees the engine and the domain, never the store. [`client`] needs no server at all,
//! and [`chaos`], a proxy that fails on purpose, serves before any.

pub mod accept;
mod answer;
pub mod body;
pub mod chaos;
pub mod client;
mod connection;
mod content_type;
pub mod error;
pub mod etag;
pub mod framing;
mod health;
pub mod host;
pub mod idempotency_key;
pub mod limits;
mod list;
pub mod metrics;
pub mod prefer;
mod read;
mod resolve;
pub mod router;
pub mod settlement;
mod stats;
mod submit;
mod timeline;
pub mod wire;

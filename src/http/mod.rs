//! Speaks HTTP: how bytes from strangers become requests, and how their headers are read.
//!
//! A request passes, in this order:
//!
//! | file | answers |
//! |---|---|
//! | [`accept`] | which connections are let in, what happens when too many come, how serving ends |
//! | `connection` | how long a client may take over each step of an exchange, on one connection |
//! | [`host`] | was this request meant for a server that speaks HTTP/1.1? |
//! | [`body`] | is the body here, in time, and small enough? |
//! | [`idempotency_key`] [`prefer`] [`etag`] | what do the request's headers say? |
//! | [`problem`] | how does a refusal look? |
//!
//! What hyper refuses by itself, before any of this runs, has a status and an empty body: 400 for a head that is no HTTP,
//! 431 for one that is too long. Bare line feeds are taken as line ends, which RFC 9112 allows.
//!
//! Every limit these files enforce is a field of [`limits::Limits`].
pub mod accept;
pub mod body;
mod connection;
pub mod etag;
pub mod host;
pub mod idempotency_key;
pub mod limits;
pub mod prefer;
pub mod problem;

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

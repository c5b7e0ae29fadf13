//! A real server, the file it stores in, and clients that share no code with it.

mod client;
mod command;
mod db;
mod injection;
mod laws;
mod listener;
mod patience;
mod proxy;
mod server;
mod shim;
mod shim_library;
mod small_disk;

pub use client::{Answer, Client, all_at_once, post_text};
pub use command::{Done, callonce, callonce_reading, callonce_with};
pub use db::Db;
pub use injection::Injection;
pub use listener::{Listener, Reply, Request};
pub use patience::{PATIENCE, number, until};
pub use proxy::Proxy;
pub use server::{Exit, Home, PROGRAM, Server, Start};
pub use shim::Shim;
pub use small_disk::SmallDisk;

/// The body of a call that moves 100, once.
pub const CHARGE: &str = r#"{"tool":"charge","args":{"amount":100}}"#;

//! Does the real process keep its promise? The program itself, a real file, real sockets, a real kill -9.

mod crashes;
mod harness;
mod scenarios;
mod sql;

//! The command line: what it prints, what it exits with, what it refuses, and what it puts on the wire.

mod benching;
mod calling;
mod looking;
mod refusing;

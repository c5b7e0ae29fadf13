//! Does the real process keep its promise? The program itself, a real file, real sockets, a real kill -9.

mod chaos;
mod cli;
mod crashes;
mod disks;
mod exclusivity;
mod faults;
mod harness;
mod hostile;
mod library;
mod missing;
mod neighbours;
mod scenarios;
mod shutdown;
mod sql;
mod vanishing;

//! Does the real process keep its promise? The program itself, a real file, real sockets, a real kill -9.

mod chaos;
mod cli;
mod crashes;
mod disks;
mod exclusivity;
mod faults;
mod full;
mod harness;
mod hostile;
mod library;
mod missing;
mod neighbours;
mod points;
mod rot;
mod scenarios;
mod shutdown;
mod sql;
mod vanishing;

//! Does it keep its promise whatever fails? Clients that write down what they were told, a downstream that keeps its own book, faults
//! from outside, and a checker that shares no code with the server.

mod check;
mod controls;
mod dice;
mod fault;
mod history;
mod kills;
mod ledger;
mod load;
mod process;
mod role;
mod run;
mod server;
mod stage;

//! Does it keep its promise whatever fails? Clients that write down what they were told, a downstream that keeps its own book, faults
//! from outside, and a checker that shares no code with the server.

mod check;
mod controls;
mod cuts;
mod dice;
mod fault;
mod history;
mod kills;
mod ledger;
mod load;
mod power;
mod process;
mod role;
mod run;
mod server;
#[path = "../system/harness/shim_library.rs"]
mod shim_library;
mod stage;

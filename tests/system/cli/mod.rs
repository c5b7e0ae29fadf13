//! The commands as people run them: what they send, show and exit with.

mod benching;
mod calling;
mod doctoring;
mod doubting;
mod following;
mod harming;
mod judging;
mod looking;
mod mistaking;
mod refusing;
mod resolving;
mod retrying;
pub mod script;
mod writing;

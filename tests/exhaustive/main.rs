//! Can any order of events break a law? Every state of small worlds is visited, with the real rules deciding.

mod execute;
mod guard;
mod hunt;
mod law;
mod rank;
mod report;
mod setup;
mod sight;
mod step;
mod system;
mod trace;
mod visit;
mod world;

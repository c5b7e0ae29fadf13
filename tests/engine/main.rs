//! Does the engine run each call once, whatever its tools, its clock and its store do?

mod endpoints;
mod fences;
mod harness;
mod lanes;
mod restarts;
mod retries;
mod submits;
mod tools;
mod waiting;

//! The binary: parse, run, exit code. Everything else is in the library.

use std::process::ExitCode;

/// A tenth of the CPU time of a call is saved by it: a call is many small allocations, made on one thread and freed on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    callonce::cli::run()
}

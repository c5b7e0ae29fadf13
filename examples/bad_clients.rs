//! What bad clients cost the others: `cargo run --release --features testing --example bad_clients -- crowd ADDRESS PID`, or
//! `flood ADDRESS PID CONNECTIONS`.
//!
//! Prints figures of a server that runs already, which keeps the calls; docs/operations.md says what they mean.

use std::error::Error;

use callonce::testing::hostile::figures;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = "expected `crowd` or `flood`, the ADDRESS:PORT of a server, its process id, and for a flood its connections";
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["crowd", address, pid] => figures::crowd(address.parse()?, pid.parse()?),
        ["flood", address, pid, connections] => {
            figures::flood(address.parse()?, pid.parse()?, connections.parse()?)
        }
        _ => Err(usage.into()),
    }
}

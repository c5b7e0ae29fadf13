//! What bad clients cost the others: `cargo run --release --features testing --example bad_clients -- crowd|flood ADDRESS PID`.
//!
//! Prints figures of a server that runs already, which keeps the calls; docs/operations.md says what they mean.

use std::error::Error;
use std::net::SocketAddr;

use callonce::testing::hostile::figures;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = "expected `crowd` or `flood`, the ADDRESS:PORT of a server, and its process id";
    let [what, address, pid] = args.as_slice() else { return Err(usage.into()) };
    let (address, pid): (SocketAddr, u32) = (address.parse()?, pid.parse()?);
    match what.as_str() {
        "crowd" => figures::crowd(address, pid),
        "flood" => figures::flood(address, pid),
        _ => Err(usage.into()),
    }
}

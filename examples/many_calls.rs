//! Writes a database of many finished calls: `cargo run --release --features testing --example many_calls -- FILE CALLS`.

use std::error::Error;
use std::path::Path;

use callonce::store::Store as _;
use callonce::store::sqlite::{Options, SqliteStore};
use callonce::testing::many_calls;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, calls] = args.as_slice() else { return Err("expected FILE and a number of CALLS".into()) };
    let store = SqliteStore::open(Path::new(file), Options::default())?;
    many_calls::fill(&store, 0..calls.parse()?).await?;
    store.close().await;
    Ok(())
}

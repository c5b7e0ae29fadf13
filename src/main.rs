//! callonce
fn main() {}

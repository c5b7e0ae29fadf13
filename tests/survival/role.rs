//! What this test program does when it is started again as somebody else.

use crate::process::ROLE;
use crate::{ledger, load, server};

/// Acts as the environment says; nothing in the test program itself.
#[test]
fn acts() {
    match std::env::var(ROLE).as_deref() {
        Err(_) => {}
        Ok("server") => server::serves(),
        Ok("ledger") => ledger::keeps(),
        Ok("load") => load::loads(),
        Ok(other) => panic!("there is no role `{other}`"),
    }
}

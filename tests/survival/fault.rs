//! What can be done to a server that works: the one thing in which two runs differ.

use crate::stage::Stage;

/// A way in which things go wrong.
pub trait Fault {
    /// What it is called in the report.
    fn name(&self) -> &'static str;

    /// Strikes: a server listens and clients are at work. The server is dead after it, or still listens; what the fault broke of
    /// the machine, it has put right. What is worth knowing beyond that is counted on the stage.
    fn strike(&mut self, stage: &mut Stage);
}

/// A fault with its weight: how often it is drawn, among all.
pub struct Weighted {
    pub weight: u64,
    pub fault: Box<dyn Fault>,
}

impl Weighted {
    pub fn new(weight: u64, fault: impl Fault + 'static) -> Self {
        Self { weight, fault: Box::new(fault) }
    }
}

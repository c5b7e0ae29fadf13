//! Tools that do what the sample tools cannot: wait to be let go, not know what they did, fall over.

use std::sync::Arc;

use callonce::domain::json::Value;
use callonce::engine::tools::{
    Interrupted, InvalidArgs, Invocation, Outcome, Registry, Running, Terms, Tool,
};
use callonce::testing::app::Setup;
use tokio::sync::Semaphore;

/// Runs until it is let go, then succeeds.
pub struct Gate(Semaphore);

impl Gate {
    /// The tool, and a server's setup that has it.
    pub fn with_setup() -> (Arc<Self>, Setup) {
        let gate = Arc::new(Self(Semaphore::new(0)));
        (gate.clone(), setup_with(gate))
    }

    /// Lets one attempt go.
    pub fn open(&self) {
        self.0.add_permits(1);
    }
}

impl Tool for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn terms(&self) -> Terms {
        Terms { side_effect: true, interrupted: Interrupted::Replay, local: false, ..Terms::default() }
    }

    fn check(&self, _: &Value) -> Result<(), InvalidArgs> {
        Ok(())
    }

    fn run(&self, _: Invocation) -> Running<'_> {
        Box::pin(async {
            self.0.acquire().await.expect("it is never closed").forget();
            Outcome::Succeeded { result: Value::Bool(true), amount: None }
        })
    }
}

/// Never knows what it did, and must not run twice.
pub struct Unsure;

impl Tool for Unsure {
    fn name(&self) -> &str {
        "unsure"
    }

    fn terms(&self) -> Terms {
        Terms { side_effect: true, interrupted: Interrupted::Hold, local: false, ..Terms::default() }
    }

    fn check(&self, _: &Value) -> Result<(), InvalidArgs> {
        Ok(())
    }

    fn run(&self, _: Invocation) -> Running<'_> {
        Box::pin(async { Outcome::Unknown { message: "the line went dead".into() } })
    }
}

/// Panics as soon as it is asked about its args.
pub struct Clumsy;

impl Tool for Clumsy {
    fn name(&self) -> &str {
        "clumsy"
    }

    fn terms(&self) -> Terms {
        Terms { side_effect: false, interrupted: Interrupted::Replay, local: true, ..Terms::default() }
    }

    fn check(&self, _: &Value) -> Result<(), InvalidArgs> {
        panic!("a fault in /srv/tools/clumsy.rs")
    }

    fn run(&self, _: Invocation) -> Running<'_> {
        Box::pin(async { Outcome::Unknown { message: "never run".into() } })
    }
}

/// The sample tools and this one.
pub fn setup_with(tool: Arc<dyn Tool>) -> Setup {
    let mut tools = Registry::samples();
    tools.register(tool).expect("a valid name");
    Setup { tools, ..Setup::default() }
}

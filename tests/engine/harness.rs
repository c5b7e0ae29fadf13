//! An engine over the memory store, tools that do as they are told, and facts to wait for.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callonce::domain::Status;
use callonce::domain::id::{EffectId, IdemKey, ToolName, Version};
use callonce::domain::json::{self, Value};
use callonce::engine::observe::{Happening, Observe};
use callonce::engine::tools::{
    Failure, Interrupted, InvalidArgs, Invocation, Outcome, Registry, Running, Terms, Tool,
};
use callonce::engine::{Engine, EngineError, Settings, Snapshot, Submission, Submitted, Until};
use callonce::store::memory::MemoryStore;
use tokio::sync::{Semaphore, mpsc};

pub const LONG: Duration = Duration::from_secs(600);

/// An engine that has started, and what it observed.
pub struct World {
    pub engine: Engine<MemoryStore>,
    pub observed: mpsc::UnboundedReceiver<String>,
}

struct Notes(mpsc::UnboundedSender<String>);

impl Observe for Notes {
    fn observe(&self, happening: &Happening<'_>) {
        let _ = self.0.send(format!("{happening:?}"));
    }
}

pub fn one_worker() -> Settings {
    Settings { workers: NonZeroUsize::MIN, ..Settings::default() }
}

pub async fn start(store: &MemoryStore, tools: Registry, settings: Settings) -> World {
    let (notes, observed) = mpsc::unbounded_channel();
    let engine = Engine::new(store.clone(), tools, settings, Arc::new(Notes(notes))).expect("settings fit");
    engine.start().await.expect("the memory store works");
    World { engine, observed }
}

pub fn samples_and(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Registry {
    let mut registry = Registry::samples();
    for tool in tools {
        registry.register(tool).expect("a valid name");
    }
    registry
}

impl World {
    pub async fn submit(&self, key: &str, tool: &str, args: &str) -> Result<Submitted, EngineError> {
        self.engine.submit(submission(key, tool, args)).await
    }

    /// Submits and waits until nothing more happens by itself.
    pub async fn settle(&self, key: &str, tool: &str, args: &str) -> Snapshot {
        let submitted = self.submit(key, tool, args).await.expect("accepted");
        self.settled(&submitted.snapshot).await
    }

    pub async fn settled(&self, call: &Snapshot) -> Snapshot {
        let id = call.call.request().expect("a call").call_id;
        self.engine.wait(id, Until::Settled, LONG).await.expect("the store works").expect("the call is there")
    }

    /// Waits until the call has this status.
    pub async fn becomes(&self, call: &Snapshot, status: Status) -> Snapshot {
        let id = call.call.request().expect("a call").call_id;
        let mut seen = Version::NONE;
        loop {
            let now =
                self.engine.wait(id, Until::Changed(seen), LONG).await.expect("works").expect("is there");
            if now.call.status() == Some(status) {
                return now;
            }
            assert_ne!(now.version, seen, "the call never became {status}");
            seen = now.version;
        }
    }

    /// Waits until something whose description contains `what` was observed.
    pub async fn observes(&mut self, what: &str) {
        loop {
            let note = self.observed.recv().await.expect("the engine lives");
            if note.contains(what) {
                return;
            }
        }
    }

    /// The names of the call's events.
    pub async fn events(&self, call: &Snapshot) -> Vec<&'static str> {
        let id = call.call.request().expect("a call").call_id;
        let history = self.engine.history(id, Version::NONE, 1000).await.expect("works");
        history.iter().map(|recorded| recorded.entry.event.name()).collect()
    }
}

pub fn submission(key: &str, tool: &str, args: &str) -> Submission {
    Submission {
        key: IdemKey::parse(key).expect("a key"),
        tool: ToolName::parse(tool).expect("a name"),
        args: json::parse(args.as_bytes()).expect("JSON"),
        client_id: None,
        seq: None,
        trace: None,
    }
}

/// What a [`Puppet`] does on each attempt.
#[derive(Clone, Copy)]
pub enum Act {
    Succeed,
    FailRetryably,
    /// Fails, and asks to be left alone for so long.
    NotNow(Duration),
    Panic,
    NotKnow,
    Hang,
    /// Waits until the test lets it go on, then succeeds.
    Wait,
}

/// A tool that does as it is told.
pub struct Puppet {
    pub name: &'static str,
    pub terms: Terms,
    pub acts: Vec<Act>,
    pub started: AtomicU32,
    pub effect_ids: Mutex<Vec<EffectId>>,
    pub go: Semaphore,
}

impl Puppet {
    /// Acts in this order, the last act for all attempts after it.
    pub fn new(name: &'static str, interrupted: Interrupted, acts: &[Act]) -> Arc<Self> {
        let terms = Terms { side_effect: true, interrupted, local: false, ..Terms::default() };
        Arc::new(Self {
            name,
            terms,
            acts: acts.to_vec(),
            started: AtomicU32::new(0),
            effect_ids: Mutex::default(),
            go: Semaphore::new(0),
        })
    }

    pub fn runs(&self) -> u32 {
        self.started.load(Ordering::SeqCst)
    }

    /// The effect id that each attempt would have handed to a downstream.
    pub fn effect_ids(&self) -> Vec<EffectId> {
        self.effect_ids.lock().expect("no test panics here").clone()
    }
}

fn failure(code: &str) -> Failure {
    Failure { code: code.into(), message: "not now".into(), retryable: true, cause: None }
}

impl Tool for Puppet {
    fn name(&self) -> &str {
        self.name
    }

    fn terms(&self) -> Terms {
        self.terms
    }

    fn check(&self, _: &Value) -> Result<(), InvalidArgs> {
        Ok(())
    }

    fn run(&self, invocation: Invocation) -> Running<'_> {
        self.effect_ids.lock().expect("no test panics here").push(invocation.effect_id);
        let turn = self.started.fetch_add(1, Ordering::SeqCst) as usize;
        let act = self.acts[turn.min(self.acts.len() - 1)];
        let success = move || Outcome::Succeeded { result: Value::from(turn as i64 + 1), amount: None };
        Box::pin(async move {
            match act {
                Act::Succeed => success(),
                Act::FailRetryably => Outcome::Failed(failure("refused")),
                Act::NotNow(after) => Outcome::NotNow { failure: failure("busy"), after },
                Act::Panic => panic!("told to"),
                Act::NotKnow => Outcome::Unknown { message: "cannot tell".into() },
                Act::Hang => std::future::pending().await,
                Act::Wait => {
                    self.go.acquire().await.expect("never closed").forget();
                    success()
                }
            }
        })
    }
}

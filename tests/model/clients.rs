//! What did clients live through? Many of them at once on an engine that is dropped where it stands and started again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callonce::domain::id::{CallId, IdemKey, ToolName};
use callonce::domain::json;
use callonce::domain::{Call, Event, Refusal};
use callonce::engine::tools::{Failure, Interrupted, InvalidArgs, Outcome};
use callonce::engine::tools::{Invocation, Registry, Running, Terms, Tool};
use callonce::engine::{Engine, EngineError, Settings, Snapshot, Store, Submission, Until};
use callonce::testing::random_calls::Chance;
use tokio::sync::watch;

use crate::history::{Deed, Said, Seen, Told};

/// How many clients there are, what each does, and how many keys they share.
const CLIENTS: u64 = 16;
const DEEDS: usize = 120;
const KEYS: u64 = 24;
/// How often the engine is dropped; each time after its share of the deeds is answered.
const LIVES: usize = 6;
/// Longer than any test takes: an answer that is late fails here, and not by a clock.
const LONG: Duration = Duration::from_secs(300);

/// What may be asked under a key; the first to come is what the key stands for.
const REQUESTS: [(&str, &str); 4] = [
    ("charge", r#"{"amount":5}"#),
    ("charge", r#"{"amount":6}"#),
    ("moody", r#"{"n":1}"#),
    ("moody", r#"{"n":2}"#),
];

/// A tool with a side effect that yields while it runs, fails now and then, panics, and does not know.
struct Moody(AtomicU64);

impl Tool for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }

    fn terms(&self) -> Terms {
        Terms { side_effect: true, interrupted: Interrupted::Replay, local: false, ..Terms::default() }
    }

    fn check(&self, _: &json::Value) -> Result<(), InvalidArgs> {
        Ok(())
    }

    fn run(&self, _: Invocation) -> Running<'_> {
        let mood = Chance::new(self.0.fetch_add(1, Ordering::SeqCst)).below(8);
        Box::pin(async move {
            for _ in 0..mood * 8 {
                tokio::task::yield_now().await;
            }
            let failed = |code: &str| Failure {
                code: code.into(),
                message: "not now".into(),
                retryable: true,
                cause: None,
            };
            match mood {
                0 | 1 => Outcome::Failed(failed("busy")),
                2 => Outcome::Unknown { message: "cannot tell".into() },
                3 => panic!("told to"),
                _ => Outcome::Succeeded { result: json::Value::from(1), amount: Some(1) },
            }
        })
    }
}

/// What all clients share, over all lives of the engine.
pub struct Notes {
    /// Orders what is invoked and answered, over all clients.
    order: AtomicU64,
    /// How many deeds each client has begun.
    begun: Vec<AtomicUsize>,
    answered: watch::Sender<usize>,
    deeds: Mutex<Vec<Deed>>,
}

impl Notes {
    fn now(&self) -> u64 {
        self.order.fetch_add(1, Ordering::SeqCst)
    }

    fn begin(&self, client: u64, key: u64, request: Option<usize>) -> usize {
        let mut deeds = self.deeds.lock().expect("nobody panics with it");
        let deed = Deed { client, key, request, invoked: self.now(), answered: None };
        deeds.push(deed);
        deeds.len() - 1
    }

    fn answer(&self, deed: usize, told: Told) {
        self.deeds.lock().expect("nobody panics with it")[deed].answered = Some((self.now(), told));
        self.answered.send_modify(|answered| *answered += 1);
    }
}

/// All that happened, and the calls at the end by key, each with its events.
pub struct Story {
    pub deeds: Vec<Deed>,
    pub ends: Vec<(u64, Snapshot, Vec<Event>)>,
    pub stats: callonce::engine::Stats,
}

/// Lets them loose on engines over what `open` gives, one after the other.
pub fn story<S: Store>(seed: u64, mut open: impl FnMut() -> S) -> Story {
    let notes = Arc::new(Notes {
        order: AtomicU64::new(0),
        begun: (0..CLIENTS).map(|_| AtomicUsize::new(0)).collect(),
        answered: watch::Sender::new(0),
        deeds: Mutex::default(),
    });
    let deeds = DEEDS * usize::try_from(CLIENTS).expect("few");
    for life in 1..LIVES {
        // Dropping the runtime drops every task at the point where it waits, as a kill would.
        let runtime = runtime();
        let store = open();
        runtime.block_on(async {
            let engine = engine(store, seed + life as u64).await;
            for client in 0..CLIENTS {
                tokio::spawn(lives(engine.clone(), notes.clone(), client, seed));
            }
            let share = deeds * life / (LIVES + 1);
            let mut answered = notes.answered.subscribe();
            answered.wait_for(|answered| *answered >= share).await.expect("the sender lives");
        });
    }
    let store = open();
    runtime().block_on(async {
        let engine = engine(store, seed + LIVES as u64).await;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| tokio::spawn(lives(engine.clone(), notes.clone(), client, seed)))
            .collect();
        for client in clients {
            client.await.expect("no client panics");
        }
        let mut ends = Vec::new();
        for key in 0..KEYS {
            let found = engine.find(&name(key)).await.expect("the store works");
            let Some(call) = found else { continue };
            let id = id(&call);
            let settled = engine.wait(id, Until::Settled, LONG).await;
            let settled = settled.expect("the store works").expect("it is there");
            let events = engine.history(id, callonce::domain::id::Version::NONE, 10_000).await;
            let events = events.expect("the store works").into_iter().map(|event| event.entry.event);
            ends.push((key, settled, events.collect()));
        }
        let stats = engine.stats().await.expect("the store works");
        let deeds = notes.deeds.lock().expect("nobody panics with it").clone();
        assert!(engine.stop(LONG).await, "everything that ran has finished");
        Story { deeds, ends, stats }
    })
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("a runtime")
}

async fn engine<S: Store>(store: S, seed: u64) -> Engine<S> {
    let mut tools = Registry::samples();
    tools.register(Arc::new(Moody(AtomicU64::new(seed)))).expect("a valid name");
    let settings = Settings { max_attempts: 6, ..Settings::default() };
    let engine = Engine::new(store, tools, settings, Arc::new(Quiet)).expect("settings fit");
    engine.start().await.expect("the store works");
    engine
}

struct Quiet;

impl callonce::engine::observe::Observe for Quiet {
    fn observe(&self, _: &callonce::engine::observe::Happening<'_>) {}
}

/// What is left of a client's deeds. Each is drawn from the client and its number, so it is the same in every life.
async fn lives<S: Store>(engine: Engine<S>, notes: Arc<Notes>, client: u64, seed: u64) {
    let begun = &notes.begun[usize::try_from(client).expect("few")];
    loop {
        let number = begun.fetch_add(1, Ordering::SeqCst);
        if number >= DEEDS {
            return;
        }
        let mut chance = Chance::new(seed ^ (client << 32) ^ number as u64);
        let key = chance.below(KEYS);
        match chance.below(4) {
            0 => {
                let deed = notes.begin(client, key, None);
                match engine.find(&name(key)).await {
                    Ok(found) => notes.answer(deed, found.as_ref().map_or(Told::Absent, told)),
                    Err(error) => panic!("the store works: {error}"),
                }
            }
            _ => {
                // Mostly the request that the key stands for, if this client is the first; sometimes another.
                let request = match chance.below(6) {
                    0 => chance.below(4),
                    _ => key % 4,
                };
                let request = usize::try_from(request).expect("few");
                let deed = notes.begin(client, key, Some(request));
                match engine.submit(submission(key, request)).await {
                    Ok(submitted) => notes.answer(deed, told(&submitted.snapshot)),
                    Err(EngineError::Refused(Refusal::IdempotencyConflict { .. })) => {
                        notes.answer(deed, Told::Conflict);
                    }
                    // The task was cut off with its runtime: not answered, and nobody knows.
                    Err(EngineError::Internal(_)) => return,
                    Err(error) => panic!("not refused: {error}"),
                }
            }
        }
    }
}

fn submission(key: u64, request: usize) -> Submission {
    let (tool, args) = REQUESTS[request];
    Submission {
        key: name(key),
        tool: ToolName::parse(tool).expect("a name"),
        args: json::parse(args.as_bytes()).expect("JSON"),
        client_id: None,
        seq: None,
        trace: None,
    }
}

fn name(key: u64) -> IdemKey {
    IdemKey::parse(&format!("shared-{key}")).expect("a key")
}

fn id(call: &Snapshot) -> CallId {
    call.call.request().expect("a stored call").call_id
}

/// What a client can see of a call, in words.
pub fn told(snapshot: &Snapshot) -> Told {
    let request = snapshot.call.request().expect("a stored call");
    let asked = (request.tool.as_str(), request.args.as_str());
    let answer = match &snapshot.call {
        Call::Succeeded { result, effect, .. } => format!("{result:?} {effect:?}"),
        Call::Failed { error, .. } => format!("{error:?}"),
        Call::Absent | Call::Pending { .. } | Call::Running { .. } | Call::Held { .. } => String::new(),
    };
    Told::Call(Seen {
        call_id: request.call_id.to_string(),
        request: REQUESTS.iter().position(|known| *known == asked).expect("somebody asked for it"),
        version: snapshot.version.0,
        said: Said { state: snapshot.call.state_name(), attempt: snapshot.call.attempts(), answer },
    })
}

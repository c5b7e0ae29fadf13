//! The load: one thread that holds all connections, and sends a phase of requests each time it is told to.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use super::connection::{Connection, Lost};
use super::keys::{Keys, Pattern};
use super::schedule::{Limit, Schedule};
use super::sender::{Phase, send_all};
use super::tally::Tally;
use super::template::Template;
use crate::cli::exit::{Exit, Failure};

/// What is sent, and by how many at once.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) template: Template,
    pub(super) concurrency: usize,
    pub(super) rate: Option<u64>,
    pub(super) pattern: Pattern,
    pub(super) repeat: f64,
    pub(super) hot: usize,
    pub(super) wait: bool,
}

/// A thread that is ready to send. It ends when this is dropped, after the phase it is in.
///
/// One thread and no locks: what the sender takes, the server on the same machine lacks.
pub(super) struct Load {
    orders: mpsc::UnboundedSender<Order>,
    ended: Arc<AtomicU64>,
}

struct Order {
    limit: Limit,
    done: oneshot::Sender<Result<Tally, Lost>>,
}

impl Load {
    /// Starts the thread; nothing is sent yet.
    pub(super) fn start(plan: Plan) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(Exit::Storage, format!("the runtime cannot start: {error}")))?;
        let (orders, mut received) = mpsc::unbounded_channel::<Order>();
        let ended = Arc::new(AtomicU64::new(0));
        let counter = ended.clone();
        std::thread::spawn(move || {
            // The keys outlive a phase: a warm-up of one key leaves that key to the load.
            let keys = RefCell::new(Keys::new(plan.pattern, plan.repeat, plan.hot));
            while let Some(order) = received.blocking_recv() {
                let phase = run(&plan, order.limit, &keys, &counter);
                let tally = LocalSet::new().block_on(&runtime, phase);
                // Whoever gave the order may have been interrupted.
                let _ = order.done.send(tally);
            }
        });
        Ok(Self { orders, ended })
    }

    /// Sends one phase of requests and returns what was measured.
    pub(super) async fn run(&self, limit: Limit) -> Result<Tally, Failure> {
        let (done, tally) = oneshot::channel();
        let gone = || Failure::new(Exit::Open, "the load ended before its time");
        self.ended.store(0, Ordering::Relaxed);
        self.orders.send(Order { limit, done }).map_err(|_| gone())?;
        tally.await.map_err(|_| gone())?.map_err(|lost| {
            Failure::new(Exit::Unreachable, format!("a connection could not be opened: {}", lost.code()))
        })
    }

    /// How many requests of this phase came to an end so far.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }
}

async fn run(plan: &Plan, limit: Limit, keys: &RefCell<Keys>, ended: &AtomicU64) -> Result<Tally, Lost> {
    let mut connections: Vec<_> = (0..plan.concurrency).map(|_| Connection::to(&plan.template)).collect();
    for connection in &mut connections {
        connection.open().await?;
    }
    let made_before = keys.borrow().made();
    let phase = Phase {
        schedule: Schedule::start(limit, plan.rate),
        keys,
        tally: RefCell::new(Tally::new()),
        wait: plan.wait,
        ended,
    };
    futures_util::future::join_all(connections.into_iter().map(|connection| send_all(&phase, connection)))
        .await;
    let mut tally = phase.tally.into_inner();
    tally.unsent = phase.schedule.unsent();
    tally.keys_made = keys.borrow().made() - made_before;
    tally.keys_before = if keys.borrow().repeat() { made_before } else { 0 };
    Ok(tally)
}

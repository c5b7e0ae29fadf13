//! Do the reference, the store in memory and the store on disk agree after every step? Random sequences, shrunk when they fail.

use callonce::store::Store as _;
use callonce::store::memory::MemoryStore;
use callonce::store::sqlite::SqliteStore;
use futures_util::FutureExt as _;
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use tokio::runtime::Runtime;

use crate::count::Count;
use crate::disk::Disk;
use crate::reference::Reference;
use crate::transition::{Fate, Transition, any_transition};
use crate::world::World;

thread_local! {
    /// Made once a thread: it is asked for before every step.
    static ANY: BoxedStrategy<Transition> = any_transition();
}

/// The reference by itself.
pub struct Rules;

impl ReferenceStateMachine for Rules {
    type State = Reference;
    type Transition = Transition;

    fn init_state() -> BoxedStrategy<Reference> {
        Just(Reference::new()).boxed()
    }

    fn transitions(_: &Reference) -> BoxedStrategy<Transition> {
        ANY.with(Clone::clone)
    }

    fn apply(mut reference: Reference, transition: &Transition) -> Reference {
        transition.happens(&mut reference);
        reference
    }
}

/// The store in memory beside the reference.
pub struct InMemory {
    world: World<MemoryStore>,
    count: Count,
}

/// What is in memory never waits.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("memory does not wait")
}

impl InMemory {
    fn new() -> Self {
        Self { world: World::new(MemoryStore::new()), count: Count::default() }
    }

    fn step(&mut self, reference: &Reference, transition: &Transition) {
        let queued = matches!(transition.fate, Fate::Drops(_));
        at_once(self.world.step(reference, transition.view, queued));
        // Whoever held this store is gone with the process; the store is the same.
        at_once(self.world.check(reference));
        self.count.step(reference);
    }

    fn finish(mut self, reference: &Reference) {
        at_once(self.world.check_everything(reference));
        self.count.conflicts = self.world.conflicts as u64;
        self.count.conclude();
    }
}

impl StateMachineTest for InMemory {
    type SystemUnderTest = Self;
    type Reference = Rules;

    fn init_test(_: &Reference) -> Self {
        Self::new()
    }

    fn apply(mut this: Self, reference: &Reference, transition: Transition) -> Self {
        this.step(reference, &transition);
        this
    }

    fn teardown(this: Self, reference: Reference) {
        this.finish(&reference);
    }
}

/// The store on disk beside the one in memory and the reference.
pub struct OnDisk {
    memory: InMemory,
    /// There until the process ends.
    disk: Option<(World<SqliteStore>, Disk)>,
    runtime: Runtime,
}

impl OnDisk {
    fn step(&mut self, reference: &Reference, transition: &Transition) {
        self.memory.step(reference, transition);
        let (mut world, mut disk) = self.disk.take().expect("it is there between steps");
        let queued = matches!(transition.fate, Fate::Drops(_));
        self.runtime.block_on(world.step(reference, transition.view, queued));
        (world, disk) = self.ends(world, disk, transition.fate);
        self.memory.count.ends(transition.fate);
        self.runtime.block_on(world.check(reference));
        for (call, ..) in &reference.steps {
            if let (Some(ours), Some(theirs)) = (world.calls.get(*call), self.memory.world.calls.get(*call)) {
                assert_eq!(ours.latest, theirs.latest, "call {call} on disk and in memory");
                let call_id = ours.latest.call.request().expect("it was created").call_id;
                assert_eq!(disk.effects(&call_id.to_string()), ours.effects, "the effects of call {call}");
            }
        }
        self.disk = Some((world, disk));
    }

    /// The process ends as it is fated, and the next one opens what it finds.
    fn ends(&self, world: World<SqliteStore>, disk: Disk, fate: Fate) -> (World<SqliteStore>, Disk) {
        let World { store, calls, conflicts } = world;
        let disk = match fate {
            Fate::Lives => return (World { store, calls, conflicts }, disk),
            Fate::Closes => {
                self.runtime.block_on(store.close());
                drop(store);
                disk
            }
            // What was queued is finished on the way out; nobody waits for the answers.
            Fate::Drops(_) => {
                drop(store);
                disk
            }
            Fate::Killed => {
                let image = disk.killed();
                drop(store);
                image
            }
        };
        (World { store: disk.open(), calls, conflicts }, disk)
    }
}

impl StateMachineTest for OnDisk {
    type SystemUnderTest = Self;
    type Reference = Rules;

    fn init_test(_: &Reference) -> Self {
        let disk = Disk::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        Self { memory: InMemory::new(), disk: Some((World::new(disk.open()), disk)), runtime }
    }

    fn apply(mut this: Self, reference: &Reference, transition: Transition) -> Self {
        this.step(reference, &transition);
        this
    }

    fn teardown(mut this: Self, reference: Reference) {
        let (world, disk) = this.disk.take().expect("it is there between steps");
        this.runtime.block_on(async {
            world.check_everything(&reference).await;
            world.store.close().await;
        });
        drop(world);
        disk.check(reference.position, reference.rows().len() as u64);
        this.memory.finish(&reference);
    }
}

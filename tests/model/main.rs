//! Can any sequence break a law? Random sequences on a reference and both stores; many clients at once on an engine.
//!
//! `CALLONCE_MODEL_TRANSITIONS=10000000` makes the sequences more, `CALLONCE_MODEL_SEED=7` makes them others.

mod clients;
mod count;
mod crowd;
mod disk;
mod driver;
mod history;
mod machine;
mod reference;
mod run;
mod table;
mod transition;
mod view;
mod world;

use machine::{InMemory, OnDisk};

/// How many steps a run takes by default in each half of the test in memory, and of the one on disk.
const IN_MEMORY: u64 = 510_000;
const ON_DISK: u64 = 10_200;

#[test]
fn the_store_in_memory_does_as_the_reference_says() {
    run::sequences::<InMemory>("in memory, first half", run::transitions(IN_MEMORY, 1), 0, false);
}

#[test]
fn the_store_in_memory_does_as_the_reference_says_with_another_seed() {
    run::sequences::<InMemory>("in memory, second half", run::transitions(IN_MEMORY, 1), 1, false);
}

#[test]
fn the_store_on_disk_does_as_the_reference_says() {
    run::sequences::<OnDisk>("on SQLite, first half", run::transitions(ON_DISK, 50), 2, true);
}

#[test]
fn the_store_on_disk_does_as_the_reference_says_with_another_seed() {
    run::sequences::<OnDisk>("on SQLite, second half", run::transitions(ON_DISK, 50), 3, true);
}

//! Every state of every setup: no law is broken, and everything worth seeing is seen.

use std::collections::BTreeSet;
use std::thread::available_parallelism;

use callonce::domain::policy::Interrupted;
use stateright::{Checker, Expectation, Model, Property};

use crate::law::laws;
use crate::report::say;
use crate::setup::{Downstream, Servers, Setup};
use crate::sight::{self, sights};
use crate::system::System;
use crate::trace::story;

/// Says to visit larger worlds, for a quarter of an hour rather than half a minute.
const LONG: &str = "CALLONCE_EXHAUSTIVE_LONG";
/// Fewer unique states than this, and the search is not what the documentation says it is.
const AT_LEAST: usize = 300_000;
/// The same for the long run.
const AT_LEAST_LONG: usize = 10_000_000;

const HOLD: Setup = Setup { interrupted: Interrupted::Hold, settles: true, faults: 2, ..Setup::small("") };

/// What goes wrong together, and with whom.
const SETUPS: [Setup; 8] = [
    Setup { faults: 3, ..Setup::small("one server, two clients with one key") },
    Setup { declines: true, faults: 2, ..Setup::small("the downstream says \"not now\"") },
    Setup { clients: &[(1, 7), (1, 8)], faults: 2, ..Setup::small("another request under the same key") },
    Setup { clients: &[(1, 7), (2, 7)], faults: 2, ..Setup::small("two calls") },
    Setup { servers: Servers::Many, faults: 2, ..Setup::small("two servers, leases alone") },
    Setup { servers: Servers::Many, workers: 3, ..Setup::small("three servers, leases alone") },
    Setup { downstream: Downstream::Ignores, name: "held calls, the downstream ignores ids", ..HOLD },
    Setup {
        downstream: Downstream::Forgets,
        declines: true,
        name: "held calls, the downstream forgets ids",
        ..HOLD
    },
];

/// The same with another fault, and clients that send twice.
fn larger(setup: Setup) -> Setup {
    Setup { faults: setup.faults + 1, sends: 2, ..setup }
}

fn laws_and_sights() -> Vec<Property<System>> {
    [laws(), sights()].concat()
}

#[test]
fn no_order_of_events_breaks_a_law() {
    let long = std::env::var_os(LONG).is_some();
    let threads = available_parallelism().map_or(1, usize::from);
    let mut unique = 0;
    let mut seen = BTreeSet::new();
    for setup in SETUPS {
        let setup = if long { larger(setup) } else { setup };
        let checker = System::new(setup, laws_and_sights).checker().threads(threads).spawn_dfs().join();
        assert!(checker.is_done(), "every state was to be visited");
        for (name, path) in checker.discoveries() {
            match checker.model().property(name).expectation {
                Expectation::Sometimes => drop(seen.insert(name)),
                Expectation::Always | Expectation::Eventually => {
                    panic!("{name} does not hold:\n{}", story(checker.model(), path));
                }
            }
        }
        unique += checker.unique_state_count();
        say(&format!(
            "exhaustive: {:>9} unique states of {:>9}, {:>2} steps deep: {}",
            checker.unique_state_count(),
            checker.state_count(),
            checker.max_depth(),
            checker.model().setup.name,
        ));
    }
    say(&format!("exhaustive: {unique:>9} unique states in all, every law holds in each"));
    let missed: Vec<_> = sight::ALL.iter().filter(|name| !seen.contains(*name)).collect();
    assert!(missed.is_empty(), "never seen: {missed:?}");
    assert!(unique >= if long { AT_LEAST_LONG } else { AT_LEAST }, "only {unique} states");
}

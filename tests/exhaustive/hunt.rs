//! None may be missing: without any one of the guards a law is broken, and this is how.

use callonce::domain::policy::Interrupted;
use stateright::{Checker, HasDiscoveries, Model};

use crate::guard::Guard;
use crate::law::{Law, any_law};
use crate::report::say;
use crate::setup::{Downstream, Setup};
use crate::system::System;
use crate::trace::story;

/// The law that is the first to go without this guard, and a world in which it does.
fn danger(guard: Guard) -> (Law, Setup) {
    let setup = Setup { without: Some(guard), ..Setup::small(guard.as_str()) };
    let ignores = Setup { downstream: Downstream::Ignores, interrupted: Interrupted::Hold, ..setup.clone() };
    match guard {
        Guard::KeyUnique => (Law::L1, setup),
        Guard::Fingerprint => (Law::L5, Setup { clients: &[(1, 7), (1, 8)], ..setup }),
        Guard::Version | Guard::Lease | Guard::AttemptFence => (Law::L3, setup),
        Guard::EffectUnique | Guard::FixedEffectId => (Law::L2, setup),
        Guard::Hold => (Law::L2, ignores),
        Guard::Settled => (Law::L2, Setup { settles: true, ..ignores }),
        Guard::Final => (Law::L4, Setup { max_attempts: 1, ..setup }),
        Guard::Sweeper => (Law::L8, setup),
    }
}

/// Breadth first and with one thread, so that the first path found is a shortest one.
#[test]
fn without_any_one_guard_a_law_is_broken() {
    for guard in Guard::ALL {
        let (law, setup) = danger(guard);
        let intact = System::new(Setup { without: None, ..setup.clone() }, any_law);
        intact.checker().spawn_bfs().join().assert_properties();

        let search = System::new(setup, any_law).checker().finish_when(HasDiscoveries::Any);
        let checker = search.spawn_bfs().join();
        let path = checker.discovery("every law");
        let path = path.unwrap_or_else(|| panic!("\"{}\" can be missing, it seems", guard.as_str()));
        assert!(
            law.fault(checker.model(), path.last_state()).is_some(),
            "{guard:?} breaks another law than {law:?}"
        );
        say(&format!("without \"{}\":\n{}", guard.as_str(), story(checker.model(), path)));
    }
}

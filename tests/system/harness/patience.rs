//! The one place that waits: for a fact, and not for ever; and how much a run is to try.

use std::time::Duration;

use callonce::engine::clock::Stopwatch;

/// How long a fact may take before the test has failed. No test that passes comes near it.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks: long enough to leave the core to the process that is looked at.
const PAUSE: Duration = Duration::from_millis(2);

/// Looks until there is something to see, and returns it.
pub fn until<T>(fact: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let watch = Stopwatch::start();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(watch.elapsed() < PATIENCE, "waited in vain: {fact}");
        std::thread::park_timeout(PAUSE);
    }
}

/// What the environment says under this name.
pub fn number(name: &str, otherwise: u64) -> u64 {
    let said = std::env::var(name).ok();
    said.map_or(otherwise, |text| text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

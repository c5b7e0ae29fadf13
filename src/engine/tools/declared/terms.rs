//! The terms of a tool, as its section states them.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use super::section::Section;
use crate::engine::tools::{Backoff, Interrupted, Probes, Retries, Terms};

/// How many attempts may be under way at once where nothing is said: a tool of its own shares its slots with no other, so that one
/// that is stuck keeps nobody else waiting.
const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(16).expect("sixteen is not zero");
/// How the server tries again where a section `retry` says nothing else.
const RETRY: Retries = Retries {
    backoff: Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(60) },
    budget: Duration::from_secs(10 * 60),
};
/// How often a downstream is asked where a section `probe` says nothing else.
const PROBES: Probes = Probes {
    settle: Duration::from_secs(60),
    time_limit: Duration::from_secs(10),
    backoff: Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(5 * 60) },
};

/// Reads what is the same for every kind of tool.
pub(super) fn terms(section: &mut Section<'_>, probes: Option<Probes>) -> Terms {
    let side_effect = section.or("side_effect", true);
    let default = if side_effect { Interrupted::Hold } else { Interrupted::Replay };
    let interrupted = section.or("interrupted", default);
    if interrupted == Interrupted::Probe && !section.has("probe") {
        section.refuse("interrupted", "\"probe\" needs a section that says how to ask: [tool.probe]");
    }
    let mut terms = Terms {
        side_effect,
        interrupted,
        time_limit: section.get("timeout"),
        local: false,
        concurrency: Some(section.or("concurrency", CONCURRENCY)),
        max_attempts: None,
        retries: None,
        probes,
    };
    if let Some(mut retry) = section.section("retry") {
        terms.max_attempts = retry.get::<NonZeroU32>("max_attempts").map(NonZeroU32::get);
        terms.retries = Some(Retries {
            backoff: retry.or("backoff", RETRY.backoff),
            budget: retry.or("budget", RETRY.budget),
        });
        retry.close();
    }
    terms
}

/// Reads when the downstream is asked.
pub(super) fn probes(probe: &mut Section<'_>) -> Probes {
    Probes {
        settle: probe.or("settle", PROBES.settle),
        time_limit: probe.or("timeout", PROBES.time_limit),
        backoff: probe.or("backoff", PROBES.backoff),
    }
}

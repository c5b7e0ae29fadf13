//! The server dies as by `kill -9`, and is started again.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use rustix::process::Signal;

use super::{CHARGE, key};
use crate::cli::chaos::stage::Stage;
use crate::cli::chaos::story::{Counted, Story, Told};
use crate::cli::exit::Failure;
use crate::cli::output::Format;

pub(super) const NAME: &str = "crash";
pub(super) const DOES: &str =
    "the server is killed in the middle of a call, started again, and asked with the same key";
pub(super) const DEMANDS: &str =
    "the same call, done, with one effect; it ran again only if its outcome was not committed";

/// A moment to die at.
struct Death {
    key: &'static str,
    when: &'static str,
    body: &'static str,
    /// The point of `CALLONCE_CRASH_AT`, if the args do not say it.
    point: Option<&'static str>,
    /// How many attempts the call has in the end.
    attempts: u32,
}

const DEATHS: [Death; 4] = [
    Death {
        key: "crash-after-commit",
        when: "right after the outcome is committed, before anybody hears of it",
        body: r#"{"tool":"charge","args":{"amount":100,"_crash_after_commit":true}}"#,
        point: None,
        attempts: 1,
    },
    Death {
        key: "crash-accepted",
        when: "right after the call is accepted, before the client hears of it",
        body: CHARGE,
        point: Some("submit.after_append"),
        attempts: 1,
    },
    Death {
        key: "crash-after-tool",
        when: "after the tool has run, before its outcome is recorded",
        body: CHARGE,
        point: Some("worker.after_tool"),
        attempts: 2,
    },
    Death {
        key: "crash-half-written",
        when: "in the middle of the transaction that records the outcome",
        body: CHARGE,
        point: Some("store.between_calls_and_audit.succeeded"),
        // The claim is part of that transaction, so it never was.
        attempts: 1,
    },
];

pub(super) async fn play(program: &Path, format: Format) -> Result<Told, Failure> {
    let mut story = Story::begin(NAME, DOES, format)?;
    let mut stage = Stage::set(program)?;
    for (so_far, death) in (1..).zip(&DEATHS) {
        story.step(format!("killed {}", death.when))?;
        let env: Vec<_> = death.point.iter().map(|point| ("CALLONCE_CRASH_AT", *point)).collect();
        let address = stage.serve(&["--chaos"], &env).await?;
        let key = key(death.key);
        // It may be answered before the end, or not: whatever was said has to stay true.
        story.send(&Stage::client(&address)?, &key, death.body).await?;
        let signal = stage.ends().await.and_then(|status| status.signal());
        story.expect("the server is killed", signal, Some(Signal::KILL.as_raw()))?;

        story.step("started again")?;
        let address = stage.serve(&["--chaos"], &[]).await?;
        let client = Stage::client(&address)?;
        let again = story.settle(&client, &key, death.body).await?;
        let ended = again.map(|call| (call.status, call.attempt));
        let wanted = ("succeeded".to_owned(), death.attempts);
        story.expect("the call is done, by this attempt", ended, Some(wanted))?;
        let stats = story.stats(&client).await?;
        let one_each = Counted { calls: so_far, effects: so_far };
        story.expect("one call and one effect for each key so far", stats, Some(one_each))?;
    }
    story.judge(stage).await
}

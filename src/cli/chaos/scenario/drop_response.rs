//! The answer is lost: the client cannot know that the server has executed the call.

use std::path::Path;

use super::{CHARGE, key};
use crate::cli::chaos::faulty::Faulty;
use crate::cli::chaos::stage::Stage;
use crate::cli::chaos::story::{Counted, Story, Told};
use crate::cli::exit::Failure;
use crate::cli::output::Format;
use crate::http::chaos::evidence::Given;
use crate::http::chaos::mode::{Mode, Moment, Silence};
use crate::http::chaos::pick::Which;

pub(super) const NAME: &str = "drop-response";
pub(super) const DOES: &str =
    "the server executes a call, its first answer is lost, and the client sends it again with the same key";
pub(super) const DEMANDS: &str = "the second answer is the call of the first request, with its one effect";

/// Each way in which an answer gets lost, with the key of its call.
const WAYS: [(&str, &str, Mode); 4] = [
    ("drop-silence", "the network falls silent, and the client times out", Mode::DropResponse(Silence::Hold)),
    ("drop-close", "the connection is closed before the answer", Mode::DropResponse(Silence::Close)),
    ("drop-half", "the connection is closed in the middle of the answer", Mode::TruncateResponse),
    ("drop-reset", "the connection is reset before the answer", Mode::Reset(Moment::Response)),
];

pub(super) async fn play(program: &Path, format: Format) -> Result<Told, Failure> {
    let mut story = Story::begin(NAME, DOES, format)?;
    let mut stage = Stage::set(program)?;
    let address = stage.serve(&[], &[]).await?;
    for (name, how, mode) in WAYS {
        story.step(how)?;
        let proxy = Faulty::before(&address, mode, Which::First(1)).await?;
        let (client, key) = (proxy.client()?, key(name));
        let lost = story.send(&client, &key, CHARGE).await?;
        let again = story.settle(&client, &key, CHARGE).await?;
        let seen = proxy.end().await;
        let first = seen.first().map(|first| (first.upstream.clone(), first.client == Given::Answer));
        for evidence in seen {
            story.saw(evidence)?;
        }
        // Proof that the fault was one: it was accepted, and the client does not know.
        story.expect("the server answered the first request with 202", first, Some((vec![202], false)))?;
        story.expect("the client does not know that", lost, None)?;
        let status = again.map(|call| call.status);
        story.expect(
            "the same key again is answered with the call, done",
            status,
            Some("succeeded".into()),
        )?;
    }
    let stats = story.stats(&Stage::client(&address)?).await?;
    let one_each = Counted { calls: WAYS.len() as u64, effects: WAYS.len() as u64 };
    story.expect("one call and one effect for each key", stats, Some(one_each))?;
    story.judge(stage).await
}

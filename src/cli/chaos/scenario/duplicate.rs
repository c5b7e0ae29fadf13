//! The request arrives twice, though the client has sent it once.

use std::path::Path;

use super::{CHARGE, key};
use crate::cli::chaos::faulty::Faulty;
use crate::cli::chaos::stage::Stage;
use crate::cli::chaos::story::{Counted, Story, Told};
use crate::cli::exit::Failure;
use crate::cli::output::Format;
use crate::http::chaos::mode::{Mode, Second};
use crate::http::chaos::pick::Which;

pub(super) const NAME: &str = "duplicate";
pub(super) const DOES: &str = "the network delivers every request twice";
pub(super) const DEMANDS: &str = "both copies are answered, with one call, which has one effect";

/// How the second copy travels, with the key of its call.
const WAYS: [(&str, &str, Second); 2] = [
    ("duplicate-at-once", "both copies at one moment, on two connections", Second::NewConnection),
    ("duplicate-after", "one copy after the other, on one connection", Second::SameConnection),
];

pub(super) async fn play(program: &Path, format: Format) -> Result<Told, Failure> {
    let mut story = Story::begin(NAME, DOES, format)?;
    let mut stage = Stage::set(program)?;
    let address = stage.serve(&[], &[]).await?;
    for (name, how, second) in WAYS {
        story.step(how)?;
        let proxy = Faulty::before(&address, Mode::DuplicateRequest(second), Which::All).await?;
        let call = story.settle(&proxy.client()?, &key(name), CHARGE).await?;
        let seen = proxy.end().await;
        let copies = seen.first().map(|first| (first.sent, first.upstream.len()));
        let taken =
            seen.iter().flat_map(|evidence| &evidence.upstream).all(|status| matches!(status, 200 | 202));
        for evidence in seen {
            story.saw(evidence)?;
        }
        story.expect("the server got and answered two copies", copies, Some((2, 2)))?;
        story.expect("neither was refused", taken, true)?;
        story.expect("the call is done", call.map(|call| call.status), Some("succeeded".into()))?;
    }
    let stats = story.stats(&Stage::client(&address)?).await?;
    let one_each = Counted { calls: WAYS.len() as u64, effects: WAYS.len() as u64 };
    story.expect("one call and one effect for each key", stats, Some(one_each))?;
    story.judge(stage).await
}

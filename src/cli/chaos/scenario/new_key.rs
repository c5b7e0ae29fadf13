//! The client's own mistake: it takes a lost answer for a failure, and sends its request again under another key.

use std::path::Path;

use super::{CHARGE, key};
use crate::cli::chaos::faulty::Faulty;
use crate::cli::chaos::stage::Stage;
use crate::cli::chaos::story::{Counted, Story, Told};
use crate::cli::exit::Failure;
use crate::cli::output::Format;
use crate::http::chaos::mode::{Mode, Silence};
use crate::http::chaos::pick::Which;

pub(super) const NAME: &str = "new-key";
pub(super) const DOES: &str =
    "an answer is lost, and a careless client sends the call again with ANOTHER key";
pub(super) const DEMANDS: &str =
    "the harm is there to see: two calls and two effects, for another key is another intention";

pub(super) async fn play(program: &Path, format: Format) -> Result<Told, Failure> {
    let mut story = Story::begin(NAME, DOES, format)?;
    let mut stage = Stage::set(program)?;
    let address = stage.serve(&[], &[]).await?;
    let proxy = Faulty::before(&address, Mode::DropResponse(Silence::Close), Which::First(1)).await?;
    let client = proxy.client()?;
    let (first, second) = (key("new-key-first"), key("new-key-second"));
    let lost = story.send(&client, &first, CHARGE).await?;
    story.expect("the first answer is lost", lost, None)?;
    story.step("the mistake: a new key for the same intention")?;
    let other = story.settle(&client, &second, CHARGE).await?;
    for evidence in proxy.end().await {
        story.saw(evidence)?;
    }
    story.step("what the first key had led to all along")?;
    let direct = Stage::client(&address)?;
    let known = story.settle(&direct, &first, CHARGE).await?;
    let done = |call: Option<&str>| call.map(str::to_owned);
    let both = [&known, &other].map(|call| done(call.as_ref().map(|call| call.status.as_str())));
    story.expect("both are done", both, [done(Some("succeeded")), done(Some("succeeded"))])?;
    let stats = story.stats(&direct).await?;
    let harm = Counted { calls: 2, effects: 2 };
    story.expect("THE HARM: the client meant one effect and has two", stats, Some(harm))?;
    story.judge(stage).await
}

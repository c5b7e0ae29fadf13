//! How far is it? A bar on stderr, where somebody looks at it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar for `verb`, which counts events and is not shown where stderr is no terminal.
pub(super) fn bar(verb: &'static str) -> ProgressBar {
    styled(verb, "{msg} [{bar:40}] {pos} of {len} events, {per_sec}, {eta} left")
}

/// As [`bar`], where what is counted is told in the message.
pub(super) fn bar_of_time(verb: &'static str) -> ProgressBar {
    styled(verb, "[{bar:40}] {msg}")
}

fn styled(verb: &'static str, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(verb);
    bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
    bar
}

/// Moves the bar to `seen` of `of`.
pub(super) fn tell(bar: &ProgressBar, seen: u64, of: u64) {
    bar.set_length(of.max(seen));
    bar.set_position(seen);
}

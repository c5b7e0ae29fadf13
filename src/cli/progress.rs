//! How far is it? A bar on stderr, where somebody looks at it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar for `verb`, which is not shown where stderr is no terminal.
pub(super) fn bar(verb: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(verb);
    let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos} of {len} events, {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    bar
}

/// Moves the bar to `seen` of `of`.
pub(super) fn tell(bar: &ProgressBar, seen: u64, of: u64) {
    bar.set_length(of.max(seen));
    bar.set_position(seen);
}

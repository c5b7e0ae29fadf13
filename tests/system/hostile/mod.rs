//! Clients that mean harm, or are broken, before the real process: nobody else notices.

mod clocks;
mod crowd;
mod malformed;
mod stopped;

/// A number from the environment, for runs that are longer than those of every day.
fn size(variable: &str, usual: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}: {text} is no number")),
        Err(_) => usual,
    }
}

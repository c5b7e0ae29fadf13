//! Figures and stories for whoever runs the tests: written past the capture of the test harness.

use std::io::Write;

/// Writes to stderr, whether or not the test's output is captured.
pub fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // A closed stderr is no fault of the model.
    let _ = writeln!(stderr, "{text}");
}

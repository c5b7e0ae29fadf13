//! Does what fails on purpose fail as it says, and does it say all that it did?

mod careful;
mod choosing;
mod ending;
mod modes;
mod passing;
mod scenarios;
mod upstream;

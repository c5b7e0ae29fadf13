//! The property `callonce::testing::fuzz::event_frame`, on inputs that libFuzzer looks for.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callonce::testing::fuzz::event_frame(bytes));

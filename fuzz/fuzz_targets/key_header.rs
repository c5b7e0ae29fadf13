//! The property `callonce::testing::fuzz::key_header`, on inputs that libFuzzer looks for.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callonce::testing::fuzz::key_header(bytes));

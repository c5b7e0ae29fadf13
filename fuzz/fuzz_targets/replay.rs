//! The property `callonce::testing::fuzz::replay`, on inputs that libFuzzer looks for.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callonce::testing::fuzz::replay(bytes));

//! The libFuzzer target for files from users; see `readers.rs` of crates/fuzz-targets.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_targets::readers::run(bytes));

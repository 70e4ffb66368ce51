//! Sequences of calls of the C functions; see `c_api.rs` of crates/fuzz-targets.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_targets::c_api::run(bytes));

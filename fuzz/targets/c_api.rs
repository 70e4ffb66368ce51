//! Sequences of calls of the C functions; see `c_api.rs` of the library.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::c_api::run(bytes));

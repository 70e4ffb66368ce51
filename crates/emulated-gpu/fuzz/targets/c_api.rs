//! Sequences of calls of the C functions; see `c_api.rs` of `fuzz-targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| emulated_gpu_fuzz_targets::c_api::run(bytes));

//! The libFuzzer target for sequences of C calls; see `c_api.rs` of `fuzz-targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| emulated_gpu_fuzz_targets::c_api::run(bytes));

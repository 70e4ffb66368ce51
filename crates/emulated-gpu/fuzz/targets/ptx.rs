//! The libFuzzer target for PTX, which is mutated by words and by bytes equally often; see `ptx.rs` of
//! `fuzz-targets`.
#![no_main]

use emulated_gpu_fuzz_targets::words;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| emulated_gpu_fuzz_targets::ptx::run(bytes));

fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    if seed.is_multiple_of(2)
        && let Some(size) = words::mutate(bytes, size, most, seed)
    {
        return size;
    }
    fuzzer_mutate(bytes, size, most)
});

//! The libFuzzer target for command lines of `ptx-emulator`; see `command_line.rs` of `fuzz-targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| emulated_gpu_fuzz_targets::command_line::run(bytes));

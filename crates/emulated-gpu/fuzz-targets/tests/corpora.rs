//! Replays the committed corpora of the fuzzers (`../fuzz/corpus`), and variations of them.
//!
//! `FUZZ_SECONDS=60 cargo test -p emulated-gpu-fuzz-targets` continues with variations for 60 seconds per target.

use emulated_gpu_fuzz_targets::{c_api, command_line, ptx};
use emulated_gpu_test_support::corpus::replay;

macro_rules! corpus {
    ($target:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/", $target)
    };
}

#[test]
fn command_lines() {
    replay("command_lines", corpus!("command_line"), 8192, command_line::run);
}

#[test]
fn texts_that_are_nearly_ptx() {
    replay("texts_that_are_nearly_ptx", corpus!("ptx"), 4096, ptx::run);
}

#[test]
fn sequences_of_c_functions() {
    replay("sequences_of_c_functions", corpus!("c_api"), 1537, c_api::run);
}

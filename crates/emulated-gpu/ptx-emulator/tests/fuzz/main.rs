//! Fuzz tests: the parser accepts or rejects random texts, with sound diagnostics. Accepted texts run to their
//! end or fault, without harming the host, and alike with and without vector instructions.
//!
//! The cases are the same in each run. `FUZZ_SECONDS=600` continues with further cases for that time
//! (`crates/emulated-gpu/scripts/fuzz-emulator.sh`).

mod kernels;
mod texts;

#[path = "../instructions/table.rs"]
#[allow(dead_code, reason = "of the rows only the instructions are used here")]
mod table;

use std::time::{Duration, Instant};

pub(crate) use emulated_gpu_test_support::random::Random;

/// Runs cases 0, 1, 2, …: `count` of them, or for as long as `FUZZ_SECONDS` says. If a case fails, its number
/// is printed.
pub(crate) fn cases(count: u64, mut case: impl FnMut(&mut Random)) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let only = std::env::var("FUZZ_CASE").ok().and_then(|case| case.parse().ok());
    for number in only.map_or(0.., |only: u64| only..) {
        let done = match (only, end) {
            (Some(only), _) => number > only,
            (None, Some(end)) => Instant::now() >= end,
            (None, None) => number >= count,
        };
        if done {
            return;
        }
        let named = CaseName(number);
        case(&mut Random(number.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        std::mem::forget(named);
    }
}

/// Prints the current case's number if the case panics.
struct CaseName(u64);

impl Drop for CaseName {
    fn drop(&mut self) {
        eprintln!("this was FUZZ_CASE={}", self.0);
    }
}

//! Texts that nobody wrote: the parser says yes or no to them, with sound diagnostics, and whatever
//! it says yes to runs to its end, or faults, without harm to the host and alike on either path.
//!
//! The same cases each time. `FUZZ_SECONDS=600` goes on with others for as long (`crates/emulated-gpu/scripts/fuzz-emulator.sh`).

mod kernels;
mod texts;

#[path = "../instructions/table.rs"]
#[allow(dead_code, reason = "of the rows only the instructions are used here")]
mod table;

use std::time::{Duration, Instant};

pub(crate) use emulated_gpu_test_support::random::Random;

/// Runs cases 0, 1, 2, …: this many, or for as long as `FUZZ_SECONDS` says. A case that fails names its
/// number.
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
        let named = Named(number);
        case(&mut Random(number.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        std::mem::forget(named);
    }
}

/// Says which case it was, when that panics.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        eprintln!("this was FUZZ_CASE={}", self.0);
    }
}

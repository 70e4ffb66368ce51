//! Test that replays the committed corpus of the fuzzer (`fuzz/corpus`), and variations of it.
//!
//! With `FUZZ_SECONDS=60 cargo test -p fuzz-targets`, the variations go on for 60 seconds.

use emulated_gpu_test_support::corpus::replay;

#[test]
fn readers_of_files() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/readers");
    replay("readers_of_files", corpus, 8192, fuzz_targets::readers::run);
}

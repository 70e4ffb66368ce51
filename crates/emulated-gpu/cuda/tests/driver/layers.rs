//! The layers of the crate's files.

use emulated_gpu_test_support::layers;

#[test]
fn no_more_than_three_files_import_each_other() {
    layers::assert_no_large_cycle(env!("CARGO_MANIFEST_DIR"));
}

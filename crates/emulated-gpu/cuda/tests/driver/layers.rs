//! The layers of the crate's files.

use emulated_gpu_test_support::layers;

#[test]
fn no_more_than_three_files_import_each_other() {
    layers::are_kept(env!("CARGO_MANIFEST_DIR"));
}

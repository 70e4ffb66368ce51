//! Tests of the option `--products`, the ladder.

use tempfile::TempDir;
use test_support::program::{EMULATED, fails, json, path, text};
use test_support::sanitizer::assert_clean;

use crate::command_line::program;

/// Runs the ladder's kernels with tiles that extend beyond all three matrices.
#[test]
fn the_sanitizer_finds_nothing_on_the_ladder() {
    let folder = TempDir::new().unwrap();
    let out = path(&folder, "dump.json");
    for products in ["coalesced", "shared-tile", "register-tile", "vectorised", "wmma"] {
        for preset in ["three-layer", "wide", "squared-error"] {
            let args = ["dump", "--preset", preset, "--products", products, "--out", &out];
            assert_clean(&mut program(&[&args[..], &EMULATED].concat()));
        }
    }
}

#[test]
fn per_sample_kernels_have_no_products() {
    let args = ["--kernels", "per-sample", "--products", "vectorised"];
    let output = program(&[&args[..], &EMULATED].concat()).output().unwrap();
    fails(&output, 2, &["leave out --kernels per-sample"]);
}

/// Tensor cores support TF32 from compute capability 8.0 on.
#[test]
fn tensor_cores_on_a_card_that_is_too_old_are_an_error() {
    for (products, capability, runs) in
        [("wmma", "7.5", false), ("wmma", "8.0", true), ("vectorised", "7.5", true)]
    {
        let folder = TempDir::new().unwrap();
        let out = path(&folder, "dump.json");
        let args = ["dump", "--preset", "single", "--products", products, "--out", &out];
        let mut command = program(&[&args[..], &EMULATED].concat());
        let output = command.env("EMULATED_GPU_CAPABILITY", capability).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(if runs { 0 } else { 2 }), "{said}");
        let words = "--products wmma needs compute capability 8.0, but emulated";
        let help = "has 7.5: choose --products vectorised";
        assert!(runs || said.contains(words) && said.contains(help), "{said}");
        if runs {
            let dtype = if products == "wmma" { "tf32" } else { "f32" };
            assert_eq!(json(&out)["dtype"], dtype, "tolerances follow from it");
        }
    }
}

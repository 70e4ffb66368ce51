//! Tests of the program on every rung with every check of the emulated GPU.

use level4_ptx::Rung;
use tempfile::TempDir;
use test_support::program::{EMULATED, path};

use crate::command_line::program;

/// Runs the program under the sanitizer, with an order of warps and blocks that `seed` determines.
fn assert_clean(args: &[&str], seed: &str) {
    let mut command = program(&[args, &EMULATED].concat());
    test_support::sanitizer::assert_clean(command.env("EMULATED_GPU_SEED", seed));
}

#[test]
fn steps_are_clean() {
    let folder = TempDir::new().unwrap();
    let out = &path(&folder, "dump.json");
    for rung in Rung::ALL {
        for (fixture, fused) in [("bce", true), ("three-layer", false), ("wide", true)] {
            let mut args = vec!["dump", "--preset", fixture, "--kernels", rung.row().name];
            args.extend(["--out", out]);
            if fused {
                args.push("--fused");
            }
            assert_clean(&args, "7");
        }
    }
}

/// Runs many steps per launch: on batches in order and shuffled, with one layer and with three, in two orders of warps
/// and blocks.
#[test]
fn launches_of_many_steps_are_clean() {
    for (sizes, shuffle) in [("784-17-10", "false"), ("784-10", "true"), ("784-20-9-10", "true")] {
        let args = ["--kernels", "whole-epoch", "--sizes", sizes, "--shuffle", shuffle];
        let set = ["--data", "digits", "--samples", "90", "--batch-size", "20"];
        let more = ["--drop-last", "false"];
        let bench = ["bench", "--runs", "1", "--steps", "9"];
        for seed in ["1", "12"] {
            assert_clean(&[&bench[..], &args, &set, &more].concat(), seed);
        }
    }
}

/// Runs consecutive steps on batches of two sizes.
#[test]
fn training_is_clean() {
    for rung in Rung::ALL {
        let sizes = ["--sizes", "784-17-10", "--samples", "80", "--batch-size", "50"];
        let more = ["--data", "digits", "--drop-last", "false", "--kernels", rung.row().name];
        assert_clean(&[&["bench", "--runs", "1", "--steps", "4"], &sizes[..], &more].concat(), "3");
    }
}

//! Tests of this level's options on the command line.

use std::process::{Command, Output};

use test_support::program::{EMULATED, fails, path, succeeds, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_level4-ptx");

test_support::gpu_options!(PROGRAM);

pub(crate) fn program(args: &[&str]) -> Command {
    test_support::program::program(PROGRAM, args)
}

fn level4(args: &[&str]) -> Output {
    program(args).output().expect("the program starts")
}

#[test]
fn a_rung_that_does_not_exist_is_a_usage_error() {
    let output = level4(&["--kernels", "fastest"]);
    fails(&output, 2, &["thread-per-sample, tiled, one-launch"]);
}

/// Tensor cores support TF32 and bfloat16 from compute capability 8.0 on.
#[test]
fn a_rung_on_a_card_that_is_too_old_is_an_error() {
    for (rung, capability, runs) in [
        ("tensor-cores", "7.5", false),
        ("bf16", "7.5", false),
        ("register-tiles", "7.0", false),
        ("tiled", "7.0", true),
    ] {
        let output = program(&["bench", "--device", "emulated", "--data", "digits"])
            .args(["--runs", "1", "--steps", "1", "--sizes", "784-3-10", "--batch-size", "4"])
            .args(["--kernels", rung])
            .env("EMULATED_GPU_CAPABILITY", capability)
            .output()
            .expect("the program starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.success(), runs, "{said}");
        let words = "needs compute capability 8.0, but emulated";
        let help = format!("has {capability}: choose --kernels tiled");
        assert!(runs || said.contains(words) && said.contains(&help), "{said}");
    }
}

/// The report names the device, so that an emulated run can't be mistaken for hardware; the profile
/// lists the launches of each rung.
#[test]
fn the_profile_shows_what_each_rung_launches() {
    let folder = tempfile::TempDir::new().unwrap();
    let (trace, svg) = (&path(&folder, "trace.json"), &path(&folder, "roofline.svg"));
    let args = ["bench", "--device", "emulated", "--data", "digits", "--samples", "256"];
    let more = ["--runs", "1", "--steps", "2", "--profile", trace, "--roofline", svg];
    for (rung, kernels) in [
        ("thread-per-sample", &["forward_backward", "update"][..]),
        ("tiled", &["forward_layer", "output", "gradient", "sum_batch", "backward_layer"]),
        ("one-launch", &["step"]),
        ("whole-epoch", &["steps"]),
        ("tensor-cores", &["forward_layer", "output", "gradient", "sum_batch", "backward_layer"]),
        ("bf16", &["forward_layer", "output", "gradient", "sum_batch", "backward_layer"]),
        ("register-tiles", &["forward_layer", "output", "gradient", "sum_batch", "backward_layer"]),
    ] {
        let output = level4(&[&args[..], &more, &["--kernels", rung]].concat());
        let said = succeeds(&output);
        assert!(said.contains("on emulated ("), "{said}");
        for kernel in kernels {
            let listed = said.lines().any(|line| line.starts_with(kernel));
            assert!(listed, "{rung} lists no {kernel}: {said}");
        }
        let heading = said.lines().find(|line| line.contains("instr.,")).expect("a heading");
        assert_eq!(heading.contains("tensor,"), ["tensor-cores", "bf16"].contains(&rung), "{said}");
        let picture = std::fs::read_to_string(svg).expect("a picture is written");
        assert!(picture.contains("NVIDIA H100 SXM5"), "{rung}: {picture}");
        // The roofline has two marks for each kernel: without caches, and with perfect caches.
        let first = kernels[0];
        // Kernels that multiply bfloat16 are left out, because the roofline's peak for tensor cores
        // is the peak of TF32.
        if rung == "bf16" {
            assert!(!picture.contains(first), "{picture}");
            let left_out = said
                .lines()
                .any(|line| line.contains(first) && line.contains("multiplies types other"));
            assert!(left_out, "{said}");
            continue;
        }
        assert!(picture.contains(first) && picture.contains(&format!("({first})")), "{picture}");
    }
}

/// The lines of a plan, and the rung that `auto` chooses.
fn plan_lines(args: &[&str], capability: &str) -> (Vec<String>, String) {
    let mut command = program(&[&["plan"], &EMULATED[..], args].concat());
    let output = command.env("EMULATED_GPU_CAPABILITY", capability).output().unwrap();
    let said = succeeds(&output);
    let lines: Vec<String> = said.lines().skip(1).map(String::from).collect();
    let auto = lines.last().and_then(|line| line.strip_prefix("auto")).expect("auto is last");
    (lines[..lines.len() - 1].to_vec(), auto.trim().to_owned())
}

#[test]
fn a_plan_lists_the_rungs_that_run_and_the_reasons_of_the_others() {
    let no = |lines: &[String]| lines.iter().filter(|line| line.contains("  no   ")).count();
    let (lines, auto) = plan_lines(&["--sizes", "784-30-10", "--batch-size", "8"], "9.0");
    assert_eq!((lines.len(), no(&lines), &auto[..]), (8, 0, "whole-epoch"));
    // The batch is too large for a block of `whole-epoch`, and the layers are too narrow for the
    // tiles of `register-tiles`.
    let (_, auto) = plan_lines(&["--sizes", "784-30-10", "--batch-size", "256"], "9.0");
    assert_eq!(auto, "one-launch");
    let (_, auto) = plan_lines(&["--sizes", "784-128-10", "--batch-size", "256"], "9.0");
    assert_eq!(auto, "register-tiles");
    let large = ["--sizes", "784-4096-4096-10", "--batch-size", "64"];
    let (lines, auto) = plan_lines(&large, "7.0");
    assert_eq!((no(&lines), &auto[..]), (5, "one-launch"));
    assert!(lines[4].contains("can't keep 79954 kB of hidden weights on chip"), "{}", lines[4]);
    assert!(lines[3].contains("needs compute capability 8.0"), "{}", lines[3]);
}

/// Training fails with every rung for these sizes, so the plan fails too.
#[test]
fn a_plan_rejects_sizes_that_the_kernels_can_not_count() {
    let large = ["--sizes", "784-300000-10", "--batch-size", "60000"];
    let output = level4(&[&["plan", "--device", "emulated"][..], &large].concat());
    fails(&output, 2, &["a batch would have 18000000000 elements"]);
}

#[test]
fn auto_prints_its_rung_and_trains_with_it() {
    let args = ["bench", "--device", "emulated", "--data", "digits", "--samples", "64"];
    let more = ["--runs", "1", "--steps", "3", "--batch-size", "16", "--kernels"];
    let last = |rung| {
        let output = level4(&[&args[..], &more, &[rung]].concat());
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        let out = text(&output.stdout);
        (out.lines().find(|line| line.starts_with("loss of")).map(String::from), said)
    };
    let (auto, said) = last("auto");
    assert_eq!(said, "note: --kernels auto takes whole-epoch\n");
    assert!(auto.is_some());
    assert_eq!(auto, last("whole-epoch").0);
}

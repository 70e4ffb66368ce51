//! The level's own options as a reader meets them.

use std::process::{Command, Output};

fn level4(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_level4-ptx"))
        .args(args)
        .env_remove("MNIST_DIR")
        .env_remove("FOUR_LEVELS_DEVICE")
        .output()
        .expect("the program starts")
}

#[test]
fn a_rung_that_does_not_exist_is_a_usage_error() {
    let output = level4(&["--kernels", "fastest"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("thread-per-sample, tiled, one-launch"), "{said}");
}

/// Tensor cores multiply TF32 from compute capability 8.0 on.
#[test]
fn a_card_that_is_too_old_for_a_rung_is_told_so() {
    for (rung, capability, runs) in
        [("tensor-cores", "7.5", false), ("register-tiles", "7.0", false), ("tiled", "7.0", true)]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_level4-ptx"))
            .args(["bench", "--device", "emulated", "--data", "digits", "--kernels", rung])
            .args(["--runs", "1", "--steps", "1", "--sizes", "784-3-10", "--batch-size", "4"])
            .env("EMULATED_GPU_CAPABILITY", capability)
            .env_remove("MNIST_DIR")
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), runs, "{said}");
        let words = "wants compute capability 8.0, and emulated";
        let help = format!("has {capability}: choose --kernels tiled");
        assert!(runs || said.contains(words) && said.contains(&help), "{said}");
    }
}

/// The report names the device, so that an emulated run never passes for hardware; the profile
/// lists the launches of each rung.
#[test]
fn the_profile_shows_what_each_rung_launches() {
    let folder = tempfile::TempDir::new().unwrap();
    let trace = folder.path().join("trace.json");
    let trace = trace.to_str().expect("a temporary folder has a plain name");
    let args = ["bench", "--device", "emulated", "--data", "digits", "--samples", "256"];
    let more = ["--runs", "1", "--steps", "2", "--profile", trace];
    for (rung, kernels) in [
        ("thread-per-sample", &["forward_backward", "update"][..]),
        ("tiled", &["forward_layer", "output", "gradient", "sum_batch", "backward_layer"]),
        ("one-launch", &["step"]),
        ("tensor-cores", &["forward_layer", "output", "gradient", "sum_batch", "backward_layer"]),
        ("register-tiles", &["forward_layer", "output", "gradient", "sum_batch", "backward_layer"]),
    ] {
        let output = level4(&[&args[..], &more, &["--kernels", rung]].concat());
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("on emulated ("), "{said}");
        for kernel in kernels {
            let listed = said.lines().any(|line| line.starts_with(kernel));
            assert!(listed, "{rung} lists no {kernel}: {said}");
        }
    }
}

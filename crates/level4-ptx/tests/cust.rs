//! The level through cust, on the emulated driver that the loader finds: `scripts/test-cust.sh` builds
//! and runs it.
#![cfg(feature = "cust")]

use std::process::Command;

use gpu::Choice;
use level4_ptx::Rung;
use level4_ptx::with_cust::{WithCust, device};
use test_support::reference;
use training::Preset;
use training::dump::{Inputs, dump, header};

#[test]
fn every_rung_agrees_with_the_references() {
    let device = device(Choice::Auto).unwrap();
    for preset in Preset::fixtures() {
        let reference = reference(&preset.name);
        for rung in Rung::ALL.into_iter().filter(|rung| *rung != Rung::WholeEpoch) {
            for fused in [false, true] {
                let mut level = WithCust::new(&preset.network, rung).unwrap();
                let mut header = header("level4-ptx", &device, &preset, 0);
                header.dtype = rung.dtype();
                let inputs = Inputs::fixture(&preset);
                let found = dump(&mut level, header, &preset, &inputs, fused).unwrap();
                let comparison = tensor_diff::compare(&reference, &found, 1.0);
                assert!(comparison.agrees(), "{}, {rung}: {comparison:?}", preset.name);
            }
        }
    }
}

/// What a program of either host says about the same run, without its time.
fn losses(host: &str, rung: Rung, device: &str) -> Vec<String> {
    let size = ["--samples", "160", "--batch-size", "50", "--drop-last", "false"];
    let output = Command::new(env!("CARGO_BIN_EXE_level4-ptx"))
        .args(["--data", "digits", "--report-every", "1", "--device", device])
        .args(["--host", host, "--kernels", rung.name()])
        .args(size)
        .env_remove("MNIST_DIR")
        .output()
        .expect("the program starts");
    let said = String::from_utf8(output.stdout).expect("the program writes UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = said.lines().filter(|line| !line.contains(" samples in "));
    lines.map(String::from).collect()
}

#[test]
fn both_hosts_print_the_same_numbers() {
    for rung in [Rung::Tiled, Rung::OneLaunch] {
        let cudarc = losses("cudarc", rung, "emulated");
        assert!(cudarc.iter().any(|line| line.starts_with("batch      3   loss 0.")), "{cudarc:?}");
        assert_eq!(losses("cust", rung, "emulated"), cudarc);
    }
}

#[test]
fn a_launch_of_many_batches_is_refused() {
    let network = Preset::find("small").unwrap().network;
    let refused = WithCust::new(&network, Rung::WholeEpoch).err().unwrap().to_string();
    assert!(refused.contains("choose --kernels one-launch"), "{refused}");
}

/// As a reader meets it: what only cudarc's host has is a usage error that says what to do.
#[test]
fn what_only_the_other_host_has_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("out");
    let file = file.to_str().expect("a temporary folder has a plain name");
    for (args, said) in [
        (&["--kernels", "whole-epoch"][..], "--host cust has no launch of many batches"),
        (&["--kernels", "auto"], "--host cust has no --kernels auto: name a rung"),
        (&["--profile", file], "--host cust has no --profile: leave out --host"),
        (&["--roofline", file], "--host cust has no --roofline: leave out --host"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_level4-ptx"))
            .args(["bench", "--data", "digits", "--device", "emulated", "--host", "cust"])
            .args(["--samples", "64", "--batch-size", "32", "--runs", "1", "--steps", "1"])
            .args(args)
            .env_remove("MNIST_DIR")
            .output()
            .expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
        assert!(!std::path::Path::new(file).exists(), "{args:?} wrote a file");
    }
}

#[test]
fn the_loaders_driver_is_not_another() {
    let error = device(Choice::Cuda).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("which is the emulated one"), "{error}");
    assert!(device(Choice::Emulated).unwrap().starts_with("emulated ("));
}

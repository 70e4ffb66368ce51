//! Tests of the options that choose a device and a profile, shared by all levels on a GPU.

use std::path::Path;

use tempfile::TempDir;

use crate::program::{BENCH, EMULATED, SHORT, fails, json, path, program, succeeds, text};

/// Expands to the `#[test]` functions for the program with this path.
#[macro_export]
macro_rules! gpu_options {
    ($program:expr) => {
        #[test]
        fn training_names_the_emulated_device_everywhere() {
            $crate::gpu_options::names_the_device($program);
        }

        #[test]
        fn a_missing_gpu_is_an_error_or_a_note_with_the_reason() {
            $crate::gpu_options::misses_the_gpu($program);
        }

        #[test]
        fn the_options_of_a_gpu_are_checked() {
            $crate::gpu_options::checks_options($program);
        }
    };
}

/// Checks that the device's name is in the first line of the output, in the report, and in a dump.
pub fn names_the_device(level: &str) {
    let folder = TempDir::new().unwrap();
    let (report, dump) = (path(&folder, "report.json"), path(&folder, "dump.json"));
    let args = [&SHORT[..], &EMULATED, &["--json", &report]].concat();
    let output = program(level, &args).output().unwrap();
    let stdout = succeeds(&output);
    let name = Path::new(level).file_stem().unwrap().to_str().unwrap();
    assert!(stdout.starts_with(&format!("{name} on emulated (")), "{stdout}");
    assert_eq!(text(&output.stderr), "", "the user chose the device, so there is nothing to note");
    let args = [&["dump", "--preset", "softmax", "--out", &dump], &EMULATED[..]].concat();
    succeeds(&program(level, &args).output().unwrap());
    for file in [report, dump] {
        let device = json(&file)["device"].to_string();
        assert!(device.starts_with("\"emulated ("), "{device}");
    }
}

/// Checks that without a GPU, `--device cuda` fails and the default prints a note, and that both state the reason.
pub fn misses_the_gpu(level: &str) {
    let short = [&BENCH[..], &SHORT].concat();
    let run = |args: &[&str]| program(level, &[&short[..], args].concat()).output().unwrap();
    let output = run(&["--device", "cuda"]);
    if output.status.success() {
        skipped::skip("there is a GPU");
        return;
    }
    let stderr = fails(&output, 1, &["--device emulated"]);
    let reason = stderr.strip_prefix("error: no NVIDIA GPU can be used: ").expect("the reason");
    let reason = reason.split(';').next().unwrap();
    let output = run(&[]);
    succeeds(&output);
    let note = format!("note: {reason}; computing on the emulated GPU\n");
    assert_eq!(text(&output.stderr), note);
    let output = program(level, &short).env("FOUR_LEVELS_DEVICE", "cuda").output().unwrap();
    fails(&output, 1, &[reason]);
}

/// Checks that an unknown device is a usage error, and that a profile that can't be written is reported before
/// training.
pub fn checks_options(level: &str) {
    let run = |args: &[&str]| program(level, &[&SHORT[..], args].concat()).output().unwrap();
    fails(&run(&["--device", "tpu"]), 2, &["emulated"]);
    let nowhere = [&EMULATED[..], &["--profile", "/nowhere/trace.json"]].concat();
    fails(&run(&nowhere), 1, &["can't write /nowhere/trace.json"]);
}

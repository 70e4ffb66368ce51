//! Helpers for the levels' tests: the device, reference dumps, short training runs, edited kernels, and running
//! the levels' programs.

pub mod gpu_options;
pub mod kernels;
pub mod program;
pub mod sanitizer;
pub mod short_run;

use std::path::Path;

use clap::ValueEnum;
use gpu::{Choice, Gpu};
use serde_json::Value;
use tensor::Dump;

/// The device that `FOUR_LEVELS_DEVICE` names; by default the emulated GPU.
#[must_use]
pub fn device_choice() -> Choice {
    let device = std::env::var("FOUR_LEVELS_DEVICE").ok();
    device.map_or(Choice::Emulated, |name| Choice::from_str(&name, true).unwrap())
}

/// Opens the device that `FOUR_LEVELS_DEVICE` names.
#[must_use]
pub fn gpu() -> Gpu {
    Gpu::open(device_choice()).unwrap()
}

/// Opens pages in a headless browser, and checks what each case expects of its page. The list of cases is written to
/// `folder`.
pub fn open_in_browser(folder: &Path, cases: &Value) {
    let Some(mut node) = skipped::browser() else { return };
    let list = folder.join("cases.json");
    std::fs::write(&list, cases.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tensor-diff/tests/browser.mjs");
    let output = node.arg(script).arg(list).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// One training step of a fixture, as computed by PyTorch in double precision.
#[must_use]
pub fn reference(fixture: &str) -> Dump {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    Dump::read(&folder.join(format!("{fixture}.json"))).unwrap()
}

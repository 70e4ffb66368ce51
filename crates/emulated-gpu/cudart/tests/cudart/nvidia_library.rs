//! NVIDIA's own runtime library on the emulated driver, which it also calls through undocumented tables. The tests of
//! `runtime.rs`, `addresses.rs` and `graphs.rs` run again in child processes, so that both libraries pass the same
//! tests.
//!
//! `CUDA_WHEELS` names the folder in which NVIDIA's wheel `nvidia-cuda-runtime-cu12` is installed. `NVCC` names the
//! compiler of CUDA 13, whose folder also has the runtime library of CUDA 13.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::NVIDIA_RUNTIME;

/// The libraries that are installed.
fn libraries() -> Vec<PathBuf> {
    let wheels = std::env::var_os("CUDA_WHEELS").map(PathBuf::from);
    let nvcc = std::env::var_os("NVCC").map(PathBuf::from);
    let twelve = wheels.map(|wheels| wheels.join("nvidia/cuda_runtime/lib/libcudart.so.12"));
    // …/cu13/bin/nvcc
    let thirteen = nvcc.and_then(|nvcc| Some(nvcc.parent()?.parent()?.join("lib/libcudart.so.13")));
    let (found, missing): (Vec<PathBuf>, Vec<PathBuf>) =
        [twelve, thirteen].into_iter().flatten().partition(|path| path.exists());
    for path in missing {
        skipped::skip(format!("NVIDIA's runtime library: {} is missing", path.display()));
    }
    if found.is_empty() {
        skipped::skip(
            "NVIDIA's runtime library: set CUDA_WHEELS to the folder that contains it (pip install \
             nvidia-cuda-runtime-cu12)",
        );
    }
    found
}

/// Runs the tests whose names contain `tests` on one of NVIDIA's libraries.
fn run(library: &Path, tests: &str) {
    // The library loads the driver by the name `libcuda.so.1`, and only from the library path.
    let folder = tempfile::tempdir().unwrap();
    let driver = emulated_cuda::library_path().unwrap();
    std::os::unix::fs::symlink(driver, folder.path().join("libcuda.so.1")).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        // Without `--skip`, a filter that also matches this module's name would run these tests in the child, which
        // would start another child, and so on.
        .args([tests, "--nocapture", "--skip", "nvidia_library::"])
        .env(NVIDIA_RUNTIME, library)
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success() && !text.contains(" 0 passed"),
        "{}: {text}",
        library.display()
    );
}

#[test]
fn tests_pass_on_nvidias_runtime() {
    for library in libraries() {
        run(&library, "runtime::");
        run(&library, "addresses::");
        run(&library, "graphs::");
    }
}

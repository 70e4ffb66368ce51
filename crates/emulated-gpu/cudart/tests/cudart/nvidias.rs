//! NVIDIA's own runtime library on the emulated driver, which it speaks to by undocumented tables too: the
//! programs of `runtime.rs`, `addresses.rs` and `graphs.rs` in processes of their own, so that both libraries
//! are held to the same.
//!
//! `CUDA_WHEELS` names the folder in which NVIDIA's wheel `nvidia-cuda-runtime-cu12` is installed, and `NVCC`
//! the compiler of its CUDA 13, beside which the runtime library of that stands.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::NVIDIAS;

/// The libraries that are here.
fn libraries() -> Vec<PathBuf> {
    let wheels = std::env::var_os("CUDA_WHEELS").map(PathBuf::from);
    let nvcc = std::env::var_os("NVCC").map(PathBuf::from);
    let twelve = wheels.map(|wheels| wheels.join("nvidia/cuda_runtime/lib/libcudart.so.12"));
    // …/cu13/bin/nvcc
    let thirteen = nvcc.and_then(|nvcc| Some(nvcc.parent()?.parent()?.join("lib/libcudart.so.13")));
    let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) =
        [twelve, thirteen].into_iter().flatten().partition(|path| path.exists());
    for path in missing {
        skipped::skip(format!("NVIDIA's runtime library: there is no {}", path.display()));
    }
    if there.is_empty() {
        skipped::skip(
            "NVIDIA's runtime library: CUDA_WHEELS names no folder with it (pip install \
             nvidia-cuda-runtime-cu12)",
        );
    }
    there
}

/// Runs the tests whose names begin so on a library of NVIDIA's.
fn run(library: &Path, tests: &str) {
    // It asks for the driver by this name, and finds it by the loader's path alone.
    let folder = tempfile::tempdir().unwrap();
    let driver = emulated_cuda::library_path().unwrap();
    std::os::unix::fs::symlink(driver, folder.path().join("libcuda.so.1")).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([tests, "--nocapture"])
        .env(NVIDIAS, library)
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.status.success() && !said.contains(" 0 passed"),
        "{}: {said}",
        library.display()
    );
}

#[test]
fn programs_run_on_nvidias_runtime_as_on_the_emulated_one() {
    for library in libraries() {
        run(&library, "runtime::");
        run(&library, "addresses::");
        run(&library, "graphs::");
    }
}

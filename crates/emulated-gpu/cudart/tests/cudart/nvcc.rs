//! A program built by nvcc, with every compression of the code, on the emulated runtime, and with NVIDIA's runtime
//! linked statically, which is nvcc's default.
//!
//! `NVCC` names the compiler, for example the nvcc of NVIDIA's wheel `nvidia-cuda-nvcc`, installed with its
//! dependencies.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Creates links with the library names that programs look for.
fn link_libraries(folder: &Path) {
    let cuda = emulated_cuda::library_path().unwrap();
    let runtime = emulated_cudart::library_path().unwrap();
    for (path, names) in [
        (cuda, ["libcuda.so", "libcuda.so.1", "libcuda.so.2"]),
        (runtime, ["libcudart.so", "libcudart.so.12", "libcudart.so.13"]),
    ] {
        for name in names {
            std::os::unix::fs::symlink(&path, folder.join(name)).unwrap();
        }
    }
}

fn nvcc() -> Option<PathBuf> {
    let nvcc = std::env::var_os("NVCC").map(PathBuf::from);
    if nvcc.is_none() {
        skipped::skip("programs built by nvcc: NVCC does not name the compiler");
    }
    nvcc
}

/// Builds the program and runs it; returns its output and whether it succeeded.
fn run(nvcc: &Path, options: &[&str]) -> (String, bool) {
    // The folder's name must not contain commas, because nvcc splits its arguments at them.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("four-levels-nvcc-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    link_libraries(&folder);
    let program = folder.join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/runtime.cu");
    let mut compile = Command::new(nvcc);
    compile.arg("-std=c++17").args(options).arg("-L").arg(&folder);
    let compiled = compile.arg("-o").arg(&program).arg(source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program)
        .env("LD_LIBRARY_PATH", &folder)
        .env("EMULATED_GPU_DEVICES", "1")
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let output =
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    (output, ran.status.success())
}

#[test]
fn programs_run_with_every_code_compression() {
    let Some(nvcc) = nvcc() else { return };
    for mode in ["none", "speed", "size"] {
        let mode = format!("-compress-mode={mode}");
        for (runtime, define) in [("shared", "-DNVIDIAS=0"), ("static", "-DNVIDIAS=1")] {
            let code = ["-gencode", "arch=compute_90,code=compute_90"];
            let (output, success) =
                run(&nvcc, &["-cudart", runtime, define, &mode, code[0], code[1]]);
            assert!(success && output.contains(" checks, 0 wrong"), "{runtime}, {mode}: {output}");
        }
    }
}

#[test]
fn machine_code_without_ptx_fails_with_a_hint() {
    let Some(nvcc) = nvcc() else { return };
    for runtime in ["shared", "static"] {
        let options = ["-cudart", runtime, "-DNVIDIAS=0", "-gencode", "arch=compute_90,code=sm_90"];
        let (output, success) = run(&nvcc, &options);
        assert!(
            !success && output.contains("-gencode arch=compute_90,code=compute_90"),
            "{output}"
        );
    }
}

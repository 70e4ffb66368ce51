//! A program that nvcc builds, in every way that it packs code, on the emulated runtime, and with
//! NVIDIA's own runtime inside, as nvcc has it where nothing else is said.
//!
//! `NVCC` names the compiler, such as that of NVIDIA's wheels `nvidia-cuda-nvcc` and those that it needs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder in which the libraries have the names that programs look for.
fn libraries(folder: &Path) {
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
        skipped::skip("programs that nvcc builds: NVCC doesn't name one");
    }
    nvcc
}

/// Builds the program and runs it; gives what it printed, and whether it ended well.
fn run(nvcc: &Path, options: &[&str]) -> (String, bool) {
    // nvcc takes a comma for the end of a folder's name.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("four-levels-nvcc-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    libraries(&folder);
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
    let said =
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    (said, ran.status.success())
}

#[test]
fn a_program_runs_however_its_code_is_packed() {
    let Some(nvcc) = nvcc() else { return };
    for mode in ["none", "speed", "size"] {
        let mode = format!("-compress-mode={mode}");
        for (runtime, define) in [("shared", "-DNVIDIAS=0"), ("static", "-DNVIDIAS=1")] {
            let code = ["-gencode", "arch=compute_90,code=compute_90"];
            let (said, well) = run(&nvcc, &["-cudart", runtime, define, &mode, code[0], code[1]]);
            assert!(well && said.contains(" checks, 0 wrong"), "{runtime}, {mode}: {said}");
        }
    }
}

#[test]
fn a_program_of_machine_code_alone_says_what_to_ask_for() {
    let Some(nvcc) = nvcc() else { return };
    for runtime in ["shared", "static"] {
        let options = ["-cudart", runtime, "-DNVIDIAS=0", "-gencode", "arch=compute_90,code=sm_90"];
        let (said, well) = run(&nvcc, &options);
        assert!(!well && said.contains("-gencode arch=compute_90,code=compute_90"), "{said}");
    }
}

//! NVIDIA's NVRTC behind this library: each test is a process of its own, with the variable that names it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cudarc::nvrtc::sys;
use sys::nvrtcResult as Code;

use crate::cudarc::{Program, install, written_by};

const VARIABLE: &str = "EMULATED_GPU_NVRTC";
const CHILD: &str = "EMULATED_NVRTC_TEST_CHILD";

/// NVIDIA's library, where it is.
fn nvidias() -> Option<PathBuf> {
    let wheels = std::env::var_os("CUDA_WHEELS").map(PathBuf::from)?;
    Some(wheels.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")).filter(|file| file.is_file())
}

/// Whether this is the process in which the test is to be done.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs one of these tests again, in a process of its own.
fn again(test: &str, file: &OsStr) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("nvidias::{test}"), "--nocapture"]);
    // A sanitizer's `dlopen` doesn't look for the compiler's built-in functions next to the library that asks for them.
    if cfg!(sanitized)
        && let Some(folder) = Path::new(file).parent()
    {
        command.env("LD_LIBRARY_PATH", folder);
    }
    let output = command.env(VARIABLE, file).env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{errors}");
    output
}

/// What the compiler of this library doesn't compile, and NVIDIA's does.
const SOURCE: &std::ffi::CStr = c"
    template <typename... Terms> __device__ constexpr auto sum(Terms... terms) { return (terms + ...); }
    template <int First> __global__ void put(int *p) {
        auto index = threadIdx.x;
        if constexpr (First > 0) p[index] = sum(index, First, 2); else p[index] = -1;
    }";

#[test]
fn what_nvidia_compiles_runs() {
    if !is_child() {
        match nvidias() {
            Some(file) => drop(again("what_nvidia_compiles_runs", file.as_os_str())),
            None => skipped::skip(
                "NVIDIA's NVRTC behind the emulated one: CUDA_WHEELS names no folder with it (pip install \
                 nvidia-cuda-nvrtc-cu12)",
            ),
        }
        return;
    }
    install();
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: places for the results.
    unsafe {
        assert_eq!(sys::nvrtcVersion(&raw mut major, &raw mut minor), Code::NVRTC_SUCCESS);
        assert_eq!(sys::nvrtcGetNumSupportedArchs(&raw mut count), Code::NVRTC_SUCCESS);
    }
    assert!(major == 12 && minor > 0 && count > 0, "{major}.{minor}, {count} architectures");
    let program = Program::new(SOURCE, &[]);
    assert_eq!(program.ask(c"put<3>"), Code::NVRTC_SUCCESS);
    program.compile(&["-std=c++17", "--gpu-architecture", "sm_80"]).unwrap();
    let name = program.lowered(c"put<3>").unwrap();
    assert_eq!(written_by(program.image(), name.to_str().unwrap()), [5, 6, 7]);
    // Of an architecture there is no image; of what is to be linked later, what NVIDIA's linker takes.
    for (options, has_image) in
        [(["-arch=compute_80", "-w"], false), (["-arch=sm_80", "-dlto"], false)]
    {
        let program = Program::new(SOURCE, &[]);
        assert_eq!(program.ask(c"put<1>"), Code::NVRTC_SUCCESS);
        program.compile(&["-std=c++17", options[0], options[1]]).unwrap();
        assert_eq!(!program.image().is_empty(), has_image, "{options:?}");
        let mut size = 0;
        // SAFETY: a program that lives, and a place for the result.
        let status = unsafe { sys::nvrtcGetLTOIRSize(program.0, &raw mut size) };
        assert_eq!((status, size > 0), (Code::NVRTC_SUCCESS, options[1] == "-dlto"));
    }
    // Its messages, and a header of the program's.
    let program =
        Program::new(c"#include \"by.h\"\n__global__ void k() { nothing }", &[(c"by.h", c"")]);
    assert_eq!(program.compile(&[]).unwrap_err().0, Code::NVRTC_ERROR_COMPILATION);
    // SAFETY: a program that lives.
    let log = unsafe { cudarc::nvrtc::result::get_program_log(program.0) }.unwrap();
    let log: Vec<u8> = log.iter().map(|&letter| letter as u8).collect();
    let log = String::from_utf8_lossy(&log);
    assert!(
        log.contains("default_program(2): error: identifier \"nothing\" is undefined"),
        "{log}"
    );
}

#[test]
fn what_is_not_nvidias_is_refused() {
    if is_child() {
        let program = Program::new(SOURCE, &[]);
        assert_eq!(program.compile(&[]).unwrap_err().0, Code::NVRTC_ERROR_INTERNAL_ERROR);
        return;
    }
    let own = emulated_nvrtc::library_path().unwrap();
    for (file, why) in [
        (OsStr::new("/nowhere/libnvrtc.so.12"), "/nowhere/libnvrtc.so.12: "),
        (own.as_os_str(), "that is this library itself"),
        (emulated_cuda::library_path().unwrap().as_os_str(), "it has no nvrtcVersion"),
    ] {
        let output = again("what_is_not_nvidias_is_refused", file);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find(|line| line.starts_with("emulated NVRTC: "));
        let line = line.unwrap_or_else(|| panic!("{said}"));
        assert!(
            line.contains(why) && line.contains("name NVIDIA's libnvrtc.so, or unset it"),
            "{line}"
        );
        assert_eq!(said.matches(VARIABLE).count(), 1, "it is said once: {said}");
    }
}

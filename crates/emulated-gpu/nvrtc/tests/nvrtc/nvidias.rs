//! NVIDIA's NVRTC called through this library. Each test runs in a separate process, with the
//! environment variable set.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cudarc::nvrtc::sys;
use sys::nvrtcResult as Code;

use crate::cudarc::{Program, install, run_kernel};

const VARIABLE: &str = "EMULATED_GPU_NVRTC";
const CHILD: &str = "EMULATED_NVRTC_TEST_CHILD";

/// NVIDIA's library, if it is installed.
fn nvidia_nvrtc() -> Option<PathBuf> {
    let wheels = std::env::var_os("CUDA_WHEELS").map(PathBuf::from)?;
    Some(wheels.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")).filter(|file| file.is_file())
}

/// Whether this is the child process, which runs the body of the test.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs one of these tests again in a new process, with the variable set to `file`.
fn run_again(test: &str, file: &OsStr) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("nvidias::{test}"), "--nocapture"]);
    // NVRTC loads its library of built-in functions from its own folder, which a sanitizer's
    // `dlopen` doesn't search.
    if cfg!(sanitized)
        && let Some(folder) = Path::new(file).parent()
    {
        command.env("LD_LIBRARY_PATH", folder);
    }
    let output = command.env(VARIABLE, file).env(CHILD, "1").output().unwrap();
    let output_text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output_text.contains("1 passed"), "{output_text}{errors}");
    output
}

/// A source that NVIDIA's compiler accepts and `cuda-c` doesn't.
const SOURCE: &std::ffi::CStr = c"
    template <typename... Terms> __device__ constexpr auto sum(Terms... terms) { return (terms + ...); }
    template <int First> __global__ void put(int *p) {
        auto index = threadIdx.x;
        if constexpr (First > 0) p[index] = sum(index, First, 2); else p[index] = -1;
    }";

#[test]
fn programs_compiled_by_nvidias_library_run() {
    if !is_child() {
        match nvidia_nvrtc() {
            Some(file) => {
                drop(run_again("programs_compiled_by_nvidias_library_run", file.as_os_str()))
            }
            None => skipped::skip(
                "NVIDIA's NVRTC through the emulated one: CUDA_WHEELS names no folder with it (pip install \
                 nvidia-cuda-nvrtc-cu12)",
            ),
        }
        return;
    }
    install();
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: the places for the results are valid.
    unsafe {
        assert_eq!(sys::nvrtcVersion(&raw mut major, &raw mut minor), Code::NVRTC_SUCCESS);
        assert_eq!(sys::nvrtcGetNumSupportedArchs(&raw mut count), Code::NVRTC_SUCCESS);
    }
    assert!(major == 12 && minor > 0 && count > 0, "{major}.{minor}, {count} architectures");
    let program = Program::new(SOURCE, &[]);
    assert_eq!(program.add_name(c"put<3>"), Code::NVRTC_SUCCESS);
    program.compile(&["-std=c++17", "--gpu-architecture", "sm_80"]).unwrap();
    let name = program.lowered(c"put<3>").unwrap();
    assert_eq!(run_kernel(program.image(), name.to_str().unwrap()), [5, 6, 7]);
    // A virtual architecture gives no image; `-dlto` gives LTO-IR instead.
    for (options, has_image) in
        [(["-arch=compute_80", "-w"], false), (["-arch=sm_80", "-dlto"], false)]
    {
        let program = Program::new(SOURCE, &[]);
        assert_eq!(program.add_name(c"put<1>"), Code::NVRTC_SUCCESS);
        program.compile(&["-std=c++17", options[0], options[1]]).unwrap();
        assert_eq!(!program.image().is_empty(), has_image, "{options:?}");
        let mut size = 0;
        // SAFETY: the program exists, and the place for the result is valid.
        let status = unsafe { sys::nvrtcGetLTOIRSize(program.0, &raw mut size) };
        assert_eq!((status, size > 0), (Code::NVRTC_SUCCESS, options[1] == "-dlto"));
    }
    // The log has NVIDIA's messages, and a header that was passed with the program is found.
    let program =
        Program::new(c"#include \"by.h\"\n__global__ void k() { nothing }", &[(c"by.h", c"")]);
    assert_eq!(program.compile(&[]).unwrap_err().0, Code::NVRTC_ERROR_COMPILATION);
    // SAFETY: the program exists.
    let log = unsafe { cudarc::nvrtc::result::get_program_log(program.0) }.unwrap();
    let log: Vec<u8> = log.iter().map(|&letter| letter as u8).collect();
    let log = String::from_utf8_lossy(&log);
    assert!(
        log.contains("default_program(2): error: identifier \"nothing\" is undefined"),
        "{log}"
    );
}

#[test]
fn a_file_that_is_not_nvidias_library_is_refused() {
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
        let output = run_again("a_file_that_is_not_nvidias_library_is_refused", file);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = errors.lines().find(|line| line.starts_with("emulated NVRTC: "));
        let line = line.unwrap_or_else(|| panic!("{errors}"));
        assert!(
            line.contains(why) && line.contains("name NVIDIA's libnvrtc.so, or unset it"),
            "{line}"
        );
        assert_eq!(errors.matches(VARIABLE).count(), 1, "reported once: {errors}");
    }
}

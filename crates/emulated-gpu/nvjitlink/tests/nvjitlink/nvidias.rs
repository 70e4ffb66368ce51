//! NVIDIA's nvJitLink called through this library. Each test runs in a separate process, with the
//! environment variable set.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::path::PathBuf;
use std::process::Command;
use std::ptr;

use cudarc::nvrtc::Ptx;
use libloading::os::unix::{Library, RTLD_NOW};

use crate::support::*;

/// The environment variable that names the file of NVIDIA's library.
const VARIABLE: &str = "EMULATED_GPU_NVJITLINK";
const CHILD: &str = "EMULATED_NVJITLINK_TEST_CHILD";

/// Whether this process is the one that should run the body of the test. If it isn't, starts a
/// child process with the variable set to `value`, and waits for it.
fn is_child(test: &str, value: &OsStr) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("nvidias::{test}"), "--nocapture"])
        .env(VARIABLE, value)
        .env(CHILD, "1");
    let output = command.output().unwrap();
    let output_text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output_text.contains("1 passed"), "{output_text}{errors}");
    false
}

#[test]
fn lto_ir_is_refused_and_the_log_suggests_an_alternative() {
    if !is_child("lto_ir_is_refused_and_the_log_suggests_an_alternative", OsStr::new("")) {
        return;
    }
    let link = Link::new(&["-arch=sm_80", "-lto"]);
    for lto_ir in [b"\xedCN\x7f", b"BC\xc0\xde"] {
        assert_eq!(link.add(ANY, lto_ir, "ir"), NVVM_COMPILE);
    }
    let log = link.log("Error");
    assert!(log.contains("ir: it is LTO-IR") && log.contains("lto=False"), "{log}");
    assert_eq!(version(), (12, 2));
}

#[test]
fn a_file_that_is_not_nvidias_library_is_reported() {
    let own = emulated_nvjitlink::library_path().unwrap();
    for file in [own.as_os_str(), OsStr::new("/there/is no/file")] {
        if !is_child("a_file_that_is_not_nvidias_library_is_reported", file) {
            continue;
        }
        let link = Link::new(&["-arch=sm_80", "-lto"]);
        assert_eq!(link.add(LTOIR, b"\xedCN\x7f", "ir"), INTERNAL);
        let (log, file) = (link.log("Error"), std::env::var(VARIABLE).unwrap());
        assert!(log.contains(VARIABLE) && log.contains(&file), "{log}");
        assert_eq!(version(), (12, 2));
        return;
    }
}

/// A library from NVIDIA's Python wheels, if it is installed.
fn wheel(path: &str) -> Option<PathBuf> {
    let wheels = std::env::var_os("CUDA_WHEELS").map(PathBuf::from)?;
    Some(wheels.join("nvidia").join(path)).filter(|file| file.is_file())
}

/// Compiles a source to LTO-IR with NVIDIA's NVRTC.
fn lto_ir(source: &CStr) -> Vec<u8> {
    type Create = unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int;
    let file = wheel("cuda_nvrtc/lib/libnvrtc.so.12").unwrap();
    let (none, mut program, mut size) = (ptr::null::<*const c_char>(), ptr::null_mut(), 0usize);
    let options = [c"-dlto".as_ptr(), c"-arch=sm_80".as_ptr()];
    // SAFETY: the types are those of nvrtc.h, and so are the arguments: C strings, two options,
    // valid places for results, and a buffer of the size that the library returned.
    unsafe {
        let nvrtc = Library::open(Some(file), RTLD_NOW).unwrap();
        let create: Create = *nvrtc.get("nvrtcCreateProgram").unwrap();
        let compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int =
            *nvrtc.get("nvrtcCompileProgram").unwrap();
        let size_of: unsafe extern "C" fn(Handle, *mut usize) -> c_int =
            *nvrtc.get("nvrtcGetLTOIRSize").unwrap();
        let copy: unsafe extern "C" fn(Handle, *mut u8) -> c_int =
            *nvrtc.get("nvrtcGetLTOIR").unwrap();
        assert_eq!(create(&raw mut program, source.as_ptr(), ptr::null(), 0, none, none), SUCCESS);
        assert_eq!(compile(program, 2, options.as_ptr()), SUCCESS);
        assert_eq!(size_of(program, &raw mut size), SUCCESS);
        let mut bytes = vec![0; size];
        assert_eq!(copy(program, bytes.as_mut_ptr()), SUCCESS);
        // The library stays loaded, because its allocations live until the process ends.
        std::mem::forget(nvrtc);
        bytes
    }
}

#[test]
fn lto_ir_compiled_by_nvidias_library_runs() {
    let libraries =
        wheel("nvjitlink/lib/libnvJitLink.so.12").zip(wheel("cuda_nvrtc/lib/libnvrtc.so.12"));
    let Some((file, _)) = libraries else {
        skipped::skip(
            "NVIDIA's nvJitLink through the emulated one: CUDA_WHEELS names no folder with it and NVRTC (pip \
             install nvidia-nvjitlink-cu12 nvidia-cuda-nvrtc-cu12)",
        );
        return;
    };
    if !is_child("lto_ir_compiled_by_nvidias_library_runs", file.as_os_str()) {
        return;
    }
    assert!(version() >= (12, 3));
    let kernel = lto_ir(
        c"extern \"C\" { __device__ int next(int); __global__ void put(int *p) { *p = next(5); } }",
    );
    let next = lto_ir(c"extern \"C\" __device__ int next(int x) { return 2 * x; }");
    let link = Link::new(&["-arch=sm_80", "-lto", "-ftz=1", "-verbose", "-time"]);
    assert_eq!(link.add(LTOIR, &kernel, "kernel"), SUCCESS, "{}", link.log("Error"));
    assert_eq!(link.add(ANY, &next, "next"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(link.image())), 10);
    let link = Link::new(&["-arch=compute_80", "-lto", "-ptx"]);
    assert_eq!(link.add(LTOIR, &kernel, "kernel"), SUCCESS);
    assert_eq!(link.add(LTOIR, &next, "next"), SUCCESS);
    assert_eq!(link.complete(), SUCCESS, "{}", link.log("Error"));
    let text = String::from_utf8(link.get("LinkedPtx").unwrap()).unwrap();
    assert_eq!(run(Ptx::from_src(text.trim_end_matches('\0'))), 10);
    // Functions in PTX are linked after the LTO-IR has been compiled.
    let link = Link::new(&["-arch=sm_80", "-lto"]);
    assert_eq!(link.add(LTOIR, &kernel, "kernel"), SUCCESS);
    assert_eq!(link.add(PTX, super::support::next(4), "next"), SUCCESS);
    assert_eq!(run(Ptx::from_binary(link.image())), 9);
    let link = Link::new(&["-arch=sm_80", "-lto"]);
    assert_eq!(link.add(LTOIR, &kernel[..kernel.len() / 2], "half"), SUCCESS);
    assert_eq!(link.complete(), NVVM_COMPILE);
    assert!(link.log("Error").contains("NVIDIA's nvJitLink gives"), "{}", link.log("Error"));
}

//! Settings of handles, versions and status texts.

use std::ffi::CStr;

use cudarc::cublas::sys;

use crate::support::{Blas, Messages, install};

#[test]
fn settings_are_stored() {
    let blas = Blas::new();
    // SAFETY: the handle and the pointers are valid.
    unsafe {
        let mut stream = std::ptr::null_mut();
        assert_eq!(sys::cublasGetStream_v2(blas.handle, &raw mut stream) as u32, 0);
        assert_eq!(stream as usize, blas.stream.cu_stream() as usize);
        let tf32 = sys::cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH;
        assert_eq!(sys::cublasSetMathMode(blas.handle, tf32) as u32, 0);
        let mut mode = sys::cublasMath_t::CUBLAS_DEFAULT_MATH;
        assert_eq!(sys::cublasGetMathMode(blas.handle, &raw mut mode) as u32, 0);
        assert_eq!(mode, tf32);
        let allowed = sys::cublasAtomicsMode_t::CUBLAS_ATOMICS_ALLOWED;
        let mut atomics = allowed;
        assert_eq!(sys::cublasGetAtomicsMode(blas.handle, &raw mut atomics) as u32, 0);
        assert_eq!(atomics, sys::cublasAtomicsMode_t::CUBLAS_ATOMICS_NOT_ALLOWED);
        assert_eq!(sys::cublasSetAtomicsMode(blas.handle, allowed) as u32, 0);
        assert_eq!(sys::cublasGetAtomicsMode(blas.handle, &raw mut atomics) as u32, 0);
        assert_eq!(atomics, allowed);
    }
}

#[test]
fn invalid_streams_are_refused() {
    let messages = Messages::capture();
    let blas = Blas::new();
    // SAFETY: the driver detects invalid streams without dereferencing them.
    let status = unsafe { sys::cublasSetStream_v2(blas.handle, 0x1234_5670usize as *mut _) };
    messages.expect(status, 7, &["streamId 0x12345670 is not a stream"]);
}

#[test]
fn version_and_texts() {
    install();
    let mut version = 0;
    // SAFETY: the pointer is valid, and texts end with 0.
    unsafe {
        assert_eq!(sys::cublasGetVersion_v2(std::ptr::null_mut(), &raw mut version) as u32, 0);
        assert_eq!(version, 120_901);
        let status = sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED;
        let name = CStr::from_ptr(sys::cublasGetStatusName(status));
        assert_eq!(name, c"CUBLAS_STATUS_NOT_SUPPORTED");
        let text = CStr::from_ptr(sys::cublasGetStatusString(status));
        assert_eq!(text, c"the functionality is not supported");
    }
}

/// The library is found by NVIDIA's name. The program itself doesn't contain the library's
/// functions, although it links the crate to find the library's path.
#[test]
fn the_program_contains_no_second_copy_of_the_library() {
    install();
    // SAFETY: only addresses are looked up.
    unsafe {
        let by_name = libloading::os::unix::Library::new("libcublas.so").unwrap();
        let by_path =
            libloading::os::unix::Library::new(emulated_cublas::library_path().unwrap()).unwrap();
        let symbol = b"cublasCreate_v2\0";
        let address = |library: &libloading::os::unix::Library| {
            *library.get::<*const ()>(symbol).unwrap() as usize
        };
        assert_eq!(address(&by_name), address(&by_path));
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        // A text that the library contains. It is joined from two pieces, so that the test does not
        // find the text in itself.
        let text = ["create one with", "cublasCreate_v2"].join(" ").into_bytes();
        let defines = program.windows(text.len()).any(|window| window == text);
        assert!(!defines, "the handles of the library are linked into the program too");
    }
}

//! Tests that every call fails without the emulated driver. They are a separate program, because no
//! other test may have loaded the driver before.

#![allow(unsafe_code, reason = "the functions are C")]

use std::ffi::{c_int, c_void};

use libloading::os::unix::Library;

/// Once the library is loaded, it is found by NVIDIA's name. The program has no second copy of the
/// library, although it links the crate to find the library's path.
#[test]
fn creating_a_handle_fails_without_the_emulated_driver() {
    // SAFETY: the signature matches NVIDIA's header.
    unsafe {
        let library = Library::new(emulated_cublaslt::library_path().unwrap()).unwrap();
        let by_name = Library::new("libcublasLt.so").unwrap();
        type Create = extern "C" fn(*mut *mut c_void) -> c_int;
        let create: Create = *library.get(b"cublasLtCreate\0").unwrap();
        let same: Create = *by_name.get(b"cublasLtCreate\0").unwrap();
        assert_eq!(create as usize, same as usize);
        let mut handle = std::ptr::null_mut();
        assert_eq!(create(&raw mut handle), 1);
        assert!(handle.is_null());
    }
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    // A text that the library contains. It is joined from two pieces, so that the test does not
    // find the text in itself.
    let text = ["create one with", "cublasLtCreate"].join(" ").into_bytes();
    let defines = program.windows(text.len()).any(|window| window == text);
    assert!(!defines, "the handles of the library are linked into the program too");
}

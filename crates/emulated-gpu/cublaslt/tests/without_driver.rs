//! Without the emulated driver, every call fails. This is a separate program, because no other test
//! may have loaded the driver before.

#![allow(unsafe_code, reason = "the functions are C")]

use std::ffi::{c_int, c_void};

use libloading::os::unix::Library;

/// The library is found by NVIDIA's name once it is loaded. The program has no second copy of it,
/// although it links the crate for its path.
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
    // A text of the library, in two pieces here so that the test does not find its own copy.
    let text = ["create one with", "cublasLtCreate"].join(" ").into_bytes();
    let defines = program.windows(text.len()).any(|window| window == text);
    assert!(!defines, "the handles of the library are linked into the program too");
}

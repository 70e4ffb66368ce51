//! Loads the emulated driver into the test program, the way programs do.

#![allow(dead_code, reason = "each test file uses what it needs")]

use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// The driver. Whoever asks for `libcuda.so` from now on gets it.
pub fn install() -> &'static Library {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let path = emulated_cuda::library_path().unwrap();
        // SAFETY: the library does nothing when it is loaded.
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap()
    })
}

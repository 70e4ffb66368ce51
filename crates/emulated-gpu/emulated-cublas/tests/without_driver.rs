//! Without the emulated driver the library refuses to work. A program of its own, because no other
//! test may have loaded the driver before.

#![allow(unsafe_code, reason = "the functions are C")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;

use libloading::os::unix::Library;

static HEARD: Mutex<String> = Mutex::new(String::new());

unsafe extern "C" fn hear(message: *const c_char) {
    // SAFETY: the library passes a text.
    let message = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    *HEARD.lock().unwrap() = message;
}

/// On a machine with NVIDIA's driver the message names its device instead.
#[test]
fn there_is_no_handle_without_the_emulated_driver() {
    // SAFETY: the signatures are those of NVIDIA's headers.
    unsafe {
        let library = Library::new(emulated_cublas::library_path().unwrap()).unwrap();
        let listen: extern "C" fn(unsafe extern "C" fn(*const c_char)) -> c_int =
            *library.get(b"cublasSetLoggerCallback\0").unwrap();
        let create: extern "C" fn(*mut *mut c_void) -> c_int =
            *library.get(b"cublasCreate_v2\0").unwrap();
        assert_eq!(listen(hear), 0);
        let mut handle = std::ptr::null_mut();
        assert_eq!(create(&raw mut handle), 1);
        assert!(handle.is_null());
    }
    let heard = HEARD.lock().unwrap().clone();
    assert!(heard.contains("CUDA driver"), "{heard}");
    assert!(heard.contains("CUBLAS_STATUS_NOT_INITIALIZED"), "{heard}");
}

//! Tests that every call fails without the emulated driver. They are a separate program, because no
//! other test may have loaded the driver before.

#![allow(unsafe_code, reason = "the functions are C")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use libloading::os::unix::Library;

static RECEIVED: Mutex<String> = Mutex::new(String::new());

unsafe extern "C" fn record(message: *const c_char) {
    // SAFETY: the library passes a valid text.
    let message = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    *RECEIVED.lock().unwrap() = message;
}

/// On a machine with NVIDIA's driver, the message names the first device instead.
#[test]
fn creating_a_handle_fails_without_the_emulated_driver() {
    // SAFETY: the signatures match NVIDIA's headers.
    unsafe {
        let library = Library::new(emulated_cublas::library_path().unwrap()).unwrap();
        let listen: extern "C" fn(unsafe extern "C" fn(*const c_char)) -> c_int =
            *library.get(b"cublasSetLoggerCallback\0").unwrap();
        let create: extern "C" fn(*mut *mut c_void) -> c_int =
            *library.get(b"cublasCreate_v2\0").unwrap();
        assert_eq!(listen(record), 0);
        let mut handle = std::ptr::null_mut();
        assert_eq!(create(&raw mut handle), 1);
        assert!(handle.is_null());
    }
    let received = RECEIVED.lock().unwrap().clone();
    assert!(received.contains("CUDA driver"), "{received}");
    assert!(received.contains("CUBLAS_STATUS_NOT_INITIALIZED"), "{received}");
}

/// The environment variable that is set in the child process, which finds the driver.
const CHILD: &str = "FINDS_THE_DRIVER_BY_ITS_WHOLE_NAME";

/// A machine with a driver but without the toolkit has `libcuda.so.1` on its library path, and no
/// `libcuda.so`.
#[test]
fn the_driver_is_found_by_its_full_name() {
    if std::env::var_os(CHILD).is_some() {
        // SAFETY: the signature matches NVIDIA's header.
        let code = unsafe {
            let library = Library::new(emulated_cublas::library_path().unwrap()).unwrap();
            let create: extern "C" fn(*mut *mut c_void) -> c_int =
                *library.get(b"cublasCreate_v2\0").unwrap();
            let mut handle = std::ptr::null_mut();
            create(&raw mut handle)
        };
        assert_eq!(code, 0);
        return;
    }
    // SAFETY: loading a driver only runs its initialisers, as in every CUDA program.
    if unsafe { Library::new("libcuda.so") }.is_ok() {
        return skipped::note("a driver is found by its short name");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("whole-name");
    std::fs::create_dir_all(&folder).unwrap();
    let name = folder.join("libcuda.so.1");
    // An earlier run may have left the file.
    let _ = std::fs::remove_file(&name);
    std::os::unix::fs::symlink(emulated_cuda::library_path().unwrap(), name).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_driver_is_found_by_its_full_name"])
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", &folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

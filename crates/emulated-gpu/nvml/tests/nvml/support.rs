//! Calls of NVML and driver functions by name, and tests in child processes.

use std::ffi::{CStr, c_char, c_uint};
use std::sync::OnceLock;

pub(crate) use emulated_gpu_test_support::child::is_child;
pub(crate) use emulated_gpu_test_support::{call, in_child, ok, output, run_child};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

/// Status codes.
pub(crate) const UNINITIALIZED: c_uint = 1;
pub(crate) const INVALID_ARGUMENT: c_uint = 2;
pub(crate) const NOT_SUPPORTED: c_uint = 3;
pub(crate) const NOT_FOUND: c_uint = 6;
pub(crate) const INSUFFICIENT_SIZE: c_uint = 7;
pub(crate) const DRIVER_NOT_LOADED: c_uint = 9;
pub(crate) const VERSION_MISMATCH: c_uint = 25;
pub(crate) const UNKNOWN: c_uint = 999;

fn open(path: std::path::PathBuf) -> Library {
    // SAFETY: the libraries have no initialisation code.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap()
}

/// Loads NVML without the driver.
pub(crate) fn nvml() -> &'static Library {
    static NVML: OnceLock<Library> = OnceLock::new();
    NVML.get_or_init(|| open(emulated_nvml::library_path().unwrap()))
}

/// Loads the driver, so that later lookups of `libcuda.so` find it.
pub(crate) fn driver() -> &'static Library {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    DRIVER.get_or_init(|| open(emulated_cuda::library_path().unwrap()))
}

/// Finds a function of either library. The caller chooses its type.
pub(crate) fn symbol<F: Copy>(name: &str) -> F {
    let library = if name.starts_with("nvml") { nvml() } else { driver() };
    // SAFETY: callers choose the type that the header declares.
    *unsafe { library.get::<F>(name) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The handle of a card.
pub(crate) fn device(number: c_uint) -> usize {
    output!(nvmlDeviceGetHandleByIndex_v2(number => c_uint, -> usize))
}

/// Calls a function that writes a string, and returns the string.
pub(crate) fn text(write: impl FnOnce(*mut c_char, c_uint) -> c_uint) -> String {
    let mut bytes = [1 as c_char; 256];
    assert_eq!(write(bytes.as_mut_ptr(), bytes.len() as c_uint), 0);
    assert!(bytes.contains(&0));
    // SAFETY: the buffer contains a NUL.
    unsafe { CStr::from_ptr(bytes.as_ptr()) }.to_str().unwrap().to_owned()
}

/// Calls a function that writes a string about a card, and returns the string.
macro_rules! text_of {
    ($name:ident($device:expr)) => {
        $crate::support::text(|to, len| {
            $crate::support::call!($name(
                $device => usize, to => *mut std::ffi::c_char, len => std::ffi::c_uint
            ))
        })
    };
}
pub(crate) use text_of;

/// Environment variables for two cards with 512 MiB and the compute capability of an Ampere GPU.
pub(crate) const TWO_CARDS: &[(&str, &str)] = &[
    ("EMULATED_GPU_DEVICES", "2"),
    ("EMULATED_GPU_MEMORY", "512M"),
    ("EMULATED_GPU_CAPABILITY", "8.6"),
];

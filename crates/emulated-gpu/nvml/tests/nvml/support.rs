//! Calls of NVML and driver functions by name, and tests in child processes.

use std::ffi::{CStr, c_char, c_uint};
use std::process::{Command, Output};
use std::sync::OnceLock;

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

/// A function of either library; the caller names its type.
pub(crate) fn symbol<F: Copy>(name: &str) -> F {
    let library = if name.starts_with("nvml") { nvml() } else { driver() };
    // SAFETY: the callers name the type from the header.
    *unsafe { library.get::<F>(name) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Calls a function of either library and returns its status.
macro_rules! call {
    ($name:ident($($value:expr => $type:ty),* $(,)?)) => {{
        let function: unsafe extern "C" fn($($type),*) -> u32 =
            $crate::support::symbol(stringify!($name));
        // SAFETY: the arguments are valid, or of a kind that the documentation says is rejected.
        unsafe { function($($value),*) }
    }};
}
pub(crate) use call;

/// Calls a function that must succeed.
macro_rules! ok {
    ($name:ident($($value:expr => $type:ty),* $(,)?)) => {
        assert_eq!($crate::support::call!($name($($value => $type),*)), 0, stringify!($name))
    };
}
pub(crate) use ok;

/// Calls a function that must succeed, and returns the value that it writes to its last argument: `got!(u32,
/// nvmlDeviceGetIndex(device => usize))`.
macro_rules! got {
    ($result:ty, $name:ident($($value:expr => $type:ty),* $(,)?)) => {{
        // SAFETY: the types are numbers and arrays of them, for which zeros are valid.
        let mut result: $result = unsafe { std::mem::zeroed() };
        $crate::support::ok!($name($($value => $type,)* &raw mut result => *mut $result));
        result
    }};
}
pub(crate) use got;

/// The handle of a card.
pub(crate) fn device(number: c_uint) -> usize {
    got!(usize, nvmlDeviceGetHandleByIndex_v2(number => c_uint))
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

const CHILD: &str = "EMULATED_NVML_TEST_CHILD";

/// Whether this is the child process that runs a test. If not, runs the test in a child with these environment
/// variables and requires that it passes.
pub(crate) fn is_child(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let output = run_child(test, variables);
    let text = output_text(&output);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

/// Two cards with 512 MiB and the compute capability of an Ampere GPU.
pub(crate) const TWO_CARDS: &[(&str, &str)] = &[
    ("EMULATED_GPU_DEVICES", "2"),
    ("EMULATED_GPU_MEMORY", "512M"),
    ("EMULATED_GPU_CAPABILITY", "8.6"),
];

/// Runs a test of this program, given with its module, in a child process.
pub(crate) fn run_child(test: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    command.envs(variables.iter().copied()).output().unwrap()
}

pub(crate) fn output_text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

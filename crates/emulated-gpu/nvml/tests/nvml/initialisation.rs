//! Initialisation and shutdown, and functions that work without initialisation.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::support::*;

#[test]
fn initialisations_are_counted() {
    in_child!(&[]);
    driver();
    let count = || {
        let mut count: c_uint = 0;
        (call!(nvmlDeviceGetCount_v2(&raw mut count => *mut c_uint)), count)
    };
    assert_eq!(count().0, UNINITIALIZED);
    assert_eq!(call!(nvmlShutdown()), UNINITIALIZED);
    assert_eq!(call!(nvmlInitWithFlags(8 => c_uint)), INVALID_ARGUMENT);
    ok!(nvmlInit_v2());
    ok!(nvmlInitWithFlags(1 => c_uint));
    ok!(nvmlInit());
    let card = device(0);
    ok!(nvmlShutdown());
    ok!(nvmlShutdown());
    assert_eq!(count(), (0, 1));
    ok!(nvmlShutdown());
    assert_eq!(count().0, UNINITIALIZED);
    let mut index: c_uint = 0;
    let after = call!(nvmlDeviceGetIndex(card, &raw mut index => *mut c_uint));
    assert_eq!(after, UNINITIALIZED);
    assert_eq!(call!(nvmlShutdown()), UNINITIALIZED);
    ok!(nvmlInit_v2());
    assert_eq!(count(), (0, 1));
}

#[test]
fn versions_and_descriptions_need_no_initialisation() {
    in_child!(&[]);
    let version = output!(cuDriverGetVersion(-> c_int));
    assert_eq!(output!(nvmlSystemGetCudaDriverVersion(-> c_int)), version);
    assert_eq!(output!(nvmlSystemGetCudaDriverVersion_v2(-> c_int)), version);
    let dotted = format!("{}.{}", version / 1000, version % 1000 / 10);
    let nvml_version = text(|to, len| call!(nvmlSystemGetNVMLVersion(to, len => c_uint)));
    assert_eq!(nvml_version, format!("{}.{dotted}", version / 1000));
    let driver_version = |to, len| call!(nvmlSystemGetDriverVersion(to, len => c_uint));
    assert_eq!(driver_version([0; 8].as_mut_ptr(), 8), UNINITIALIZED);
    ok!(nvmlInit_v2());
    assert_eq!(text(driver_version), dotted);
    let error = |number: c_uint| {
        let function: extern "C" fn(c_uint) -> *const c_char =
            crate::support::symbol("nvmlErrorString");
        // SAFETY: the string is static and NUL-terminated.
        unsafe { CStr::from_ptr(function(number)) }.to_str().unwrap()
    };
    assert_eq!((error(0), error(3), error(54321)), ("Success", "Not Supported", "Unknown Error"));
}

#[test]
fn initialisation_fails_without_the_emulated_driver() {
    in_child!(&[]);
    // Only NVML is loaded, so either no driver is found, or NVIDIA's is.
    nvml();
    assert_eq!(call!(nvmlInit_v2()), DRIVER_NOT_LOADED);
    assert_eq!(call!(nvmlShutdown()), UNINITIALIZED);
    // A program may load the driver later.
    driver();
    ok!(nvmlInit_v2());
}

#[test]
fn initialisation_fails_with_invalid_settings() {
    if !is_child() {
        let printed = run_child!(&[("EMULATED_GPU_DEVICES", "many")]);
        assert!(printed.contains("emulated NVML: the driver rejects"), "{printed}");
        return;
    }
    driver();
    assert_eq!(call!(nvmlInit_v2()), UNKNOWN);
}

#[test]
fn forked_processes_can_use_the_card() {
    in_child!(&[]);
    driver();
    ok!(nvmlInit_v2());
    let before = output!(nvmlDeviceGetMemoryInfo(device(0), -> [u64; 3]));
    // Looked up before the fork: in the child, a loader's lock that another thread held would never
    // be released.
    let init: unsafe extern "C" fn(c_uint) -> c_uint = crate::support::symbol("cuInit");
    let memory: unsafe extern "C" fn(usize, *mut [u64; 3]) -> c_uint =
        crate::support::symbol("nvmlDeviceGetMemoryInfo");
    let card = device(0);
    // SAFETY: the new process only calls functions that are already loaded, and exits without exit handlers.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let mut after = [0; 3];
        // SAFETY: the child only calls functions that are already loaded, and the memory is valid during the calls.
        unsafe {
            let is_same = memory(card, &raw mut after) == 0 && after == before;
            libc::_exit(if is_same && init(0) == 0 { 0 } else { 1 });
        }
    }
    let mut status = 0;
    // SAFETY: the memory is valid during the call.
    assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
}

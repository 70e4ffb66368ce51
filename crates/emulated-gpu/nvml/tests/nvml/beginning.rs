//! Before, during and after: who needs `nvmlInit`, and what that needs.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::support::{
    DRIVER_NOT_LOADED, INVALID_ARGUMENT, UNINITIALIZED, UNKNOWN, alone, call, device, driver, got,
    nvml, ok, plays, said, text,
};

#[test]
fn beginnings_are_counted() {
    if !plays("beginning::beginnings_are_counted", &[]) {
        return;
    }
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
    let after = call!(nvmlDeviceGetIndex(card => usize, &raw mut index => *mut c_uint));
    assert_eq!(after, UNINITIALIZED);
    assert_eq!(call!(nvmlShutdown()), UNINITIALIZED);
    ok!(nvmlInit_v2());
    assert_eq!(count(), (0, 1));
}

#[test]
fn versions_and_texts_need_no_beginning() {
    if !plays("beginning::versions_and_texts_need_no_beginning", &[]) {
        return;
    }
    let mut version: c_int = 0;
    ok!(cuDriverGetVersion(&raw mut version => *mut c_int));
    assert_eq!(got!(c_int, nvmlSystemGetCudaDriverVersion()), version);
    assert_eq!(got!(c_int, nvmlSystemGetCudaDriverVersion_v2()), version);
    let dotted = format!("{}.{}", version / 1000, version % 1000 / 10);
    let own = text(|to, len| call!(nvmlSystemGetNVMLVersion(to => *mut c_char, len => c_uint)));
    assert_eq!(own, format!("{}.{dotted}", version / 1000));
    let of_driver = |to, len| call!(nvmlSystemGetDriverVersion(to => *mut c_char, len => c_uint));
    assert_eq!(of_driver([0; 8].as_mut_ptr(), 8), UNINITIALIZED);
    ok!(nvmlInit_v2());
    assert_eq!(text(of_driver), dotted);
    let error = |number: c_uint| {
        let function: extern "C" fn(c_uint) -> *const c_char =
            crate::support::symbol("nvmlErrorString");
        // SAFETY: the text stays, and ends in NUL.
        unsafe { CStr::from_ptr(function(number)) }.to_str().unwrap()
    };
    assert_eq!((error(0), error(3), error(54321)), ("Success", "Not Supported", "Unknown Error"));
}

#[test]
fn without_the_emulated_driver_there_is_no_beginning() {
    let test = "beginning::without_the_emulated_driver_there_is_no_beginning";
    if !plays(test, &[]) {
        return;
    }
    // Whether there is none or NVIDIA's.
    nvml();
    assert_eq!(call!(nvmlInit_v2()), DRIVER_NOT_LOADED);
    assert_eq!(call!(nvmlShutdown()), UNINITIALIZED);
    // A program may load it later.
    driver();
    ok!(nvmlInit_v2());
}

#[test]
fn settings_that_are_not_understood_are_an_error() {
    let test = "beginning::settings_that_are_not_understood_are_an_error";
    let variables = [("EMULATED_GPU_DEVICES", "many")];
    if plays(test, &variables) {
        driver();
        assert_eq!(call!(nvmlInit_v2()), UNKNOWN);
    } else {
        assert!(said(&alone(test, &variables)).contains("emulated NVML: the driver does not"));
    }
}

#[test]
fn a_process_that_is_forked_afterwards_can_use_the_card() {
    if !plays("beginning::a_process_that_is_forked_afterwards_can_use_the_card", &[]) {
        return;
    }
    driver();
    ok!(nvmlInit_v2());
    let before = got!([u64; 3], nvmlDeviceGetMemoryInfo(device(0) => usize));
    // Looked up before: the new process has but one thread.
    let init: unsafe extern "C" fn(c_uint) -> c_uint = crate::support::symbol("cuInit");
    let memory: unsafe extern "C" fn(usize, *mut [u64; 3]) -> c_uint =
        crate::support::symbol("nvmlDeviceGetMemoryInfo");
    let card = device(0);
    // SAFETY: the new process calls what is there already, and ends without what exit would do.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let mut after = [0; 3];
        // SAFETY: as above; the place lives for the call.
        unsafe {
            let is_same = memory(card, &raw mut after) == 0 && after == before;
            libc::_exit(if is_same && init(0) == 0 { 0 } else { 1 });
        }
    }
    let mut status = 0;
    // SAFETY: the place lives for the call.
    assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:#x}");
}

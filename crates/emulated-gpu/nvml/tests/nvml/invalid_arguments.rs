//! Invalid arguments: handles, null pointers, buffers that are too small, structure versions.

use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

use crate::support::*;

fn initialise() -> usize {
    crate::support::driver();
    ok!(nvmlInit_v2());
    device(0)
}

#[test]
fn invalid_handles_are_rejected() {
    in_child!(TWO_CARDS);
    let card = initialise();
    for wrong in [0, 1, card - 1, card + 2, usize::MAX] {
        let mut number: c_uint = 7;
        let place = &raw mut number;
        let expected = INVALID_ARGUMENT;
        assert_eq!(call!(nvmlDeviceGetIndex(wrong, place => *mut c_uint)), expected);
        assert_eq!(number, 7);
    }
    let mut handle = 0usize;
    let place = &raw mut handle;
    for number in [2, 64, u32::MAX] {
        let status = call!(nvmlDeviceGetHandleByIndex_v2(number => c_uint, place));
        assert_eq!(status, INVALID_ARGUMENT);
    }
    for (text, status) in [
        (c"0000:05:00.0", NOT_FOUND),
        (c"0000:00:01.0", NOT_FOUND),
        (c"somewhere", INVALID_ARGUMENT),
        (c"", INVALID_ARGUMENT),
    ] {
        let text = text.as_ptr();
        let code = call!(nvmlDeviceGetHandleByPciBusId_v2(text, place));
        assert_eq!(code, status);
    }
    let text = c"GPU-00000000-0000-0000-0000-000000000000".as_ptr();
    let code = call!(nvmlDeviceGetHandleByUUID(text, place));
    assert_eq!(code, NOT_FOUND);
    let code = call!(nvmlDeviceGetHandleBySerial(text, place));
    assert_eq!(code, NOT_FOUND);
    assert_eq!(handle, 0);
    let same = call!(nvmlDeviceGetP2PStatus(card, card, 0 => c_uint, &raw mut handle));
    assert_eq!(same, INVALID_ARGUMENT, "a card is not its own peer");
}

#[test]
fn null_pointers_are_rejected() {
    in_child!(&[]);
    let card = initialise();
    let null = null_mut::<u8>();
    // All functions that write a single result through their second argument.
    let names = "nvmlDeviceGetBrand nvmlDeviceGetIndex nvmlDeviceGetPciInfo nvmlDeviceGetPciInfo_v2 \
                 nvmlDeviceGetPciInfo_v3 nvmlDeviceGetPciInfoExt nvmlDeviceGetArchitecture \
                 nvmlDeviceGetMemoryInfo nvmlDeviceGetMemoryInfo_v2 nvmlDeviceGetComputeMode \
                 nvmlDeviceGetPersistenceMode nvmlDeviceGetDisplayMode nvmlDeviceGetDisplayActive \
                 nvmlDeviceIsMigDeviceHandle nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMultiGpuBoard \
                 nvmlDeviceGetSupportedEventTypes nvmlDeviceGetRunningProcessDetailList";
    for name in names.split_whitespace() {
        let function: unsafe extern "C" fn(usize, *mut u8) -> c_uint = crate::support::symbol(name);
        // SAFETY: the function rejects null.
        assert_eq!(unsafe { function(card, null) }, INVALID_ARGUMENT, "{name}");
    }
    let mut number = 0;
    let place = &raw mut number;
    for (major, minor) in [(null_mut(), place), (place, null_mut())] {
        let status = call!(nvmlDeviceGetCudaComputeCapability(
            card => usize, major => *mut c_int, minor => *mut c_int
        ));
        assert_eq!((status, number), (INVALID_ARGUMENT, 0));
    }
    assert_eq!(call!(nvmlDeviceGetCount_v2(null)), INVALID_ARGUMENT);
    assert_eq!(call!(nvmlSystemGetCudaDriverVersion_v2(null)), INVALID_ARGUMENT);
    let expected = INVALID_ARGUMENT;
    assert_eq!(call!(nvmlDeviceGetName(card, null, 9 => c_uint)), expected);
    let mut handle = 0usize;
    let by_uuid = call!(nvmlDeviceGetHandleByUUID(null, &raw mut handle));
    assert_eq!(by_uuid, INVALID_ARGUMENT);
    for count in [0, 1] {
        let mut words = [0u64; 5];
        let to = if count == 0 { words.as_mut_ptr() } else { null_mut() };
        let fields = call!(nvmlDeviceGetFieldValues(card, count => c_int, to));
        assert_eq!(fields, INVALID_ARGUMENT);
        let near = call!(nvmlDeviceGetCpuAffinity(card, count as c_uint => c_uint, to));
        assert_eq!(near, INVALID_ARGUMENT);
    }
}

#[test]
fn strings_that_do_not_fit_are_not_written() {
    in_child!(&[]);
    let card = initialise();
    let (name, uuid) = (text_of!(nvmlDeviceGetName(card)), text_of!(nvmlDeviceGetUUID(card)));
    for (function, text) in [("nvmlDeviceGetName", name), ("nvmlDeviceGetUUID", uuid)] {
        let call: unsafe extern "C" fn(usize, *mut u8, c_uint) -> c_uint =
            crate::support::symbol(function);
        let mut bytes = vec![7u8; text.len() + 1];
        // SAFETY: the buffer is at least as large as the length passed.
        unsafe {
            let short = call(card, bytes.as_mut_ptr(), text.len() as c_uint);
            assert_eq!(short, INSUFFICIENT_SIZE, "{function}");
            assert!(bytes.iter().all(|byte| *byte == 7), "{function}");
            assert_eq!(call(card, bytes.as_mut_ptr(), bytes.len() as c_uint), 0, "{function}");
        }
        assert_eq!(bytes, [text.as_bytes(), b"\0"].concat());
    }
}

#[test]
fn structures_of_other_versions_are_rejected() {
    in_child!(&[]);
    let card = initialise();
    let check_rejected = |name: &str, right: u32| {
        let function: unsafe extern "C" fn(usize, *mut u32) -> c_uint =
            crate::support::symbol(name);
        for wrong in [0, 1, 2, right ^ 1 << 25, right + 8] {
            let mut words = [0u32; 32];
            words[0] = wrong;
            // SAFETY: the buffer is large enough for the newest version.
            assert_eq!(unsafe { function(card, words.as_mut_ptr()) }, VERSION_MISMATCH, "{name}");
            assert!(words[1..].iter().all(|word| *word == 0), "{name}");
        }
    };
    check_rejected("nvmlDeviceGetMemoryInfo_v2", 40 | 2 << 24);
    check_rejected("nvmlDeviceGetPciInfoExt", 64 | 1 << 24);
    check_rejected("nvmlDeviceGetRunningProcessDetailList", 24 | 1 << 24);
    let mut handle = 0usize;
    let mut uuid = [0u32; 13];
    uuid[0] = 52 | 2 << 24;
    let by_uuid = call!(nvmlDeviceGetHandleByUUIDV(uuid.as_mut_ptr(), &raw mut handle));
    assert_eq!(by_uuid, VERSION_MISMATCH);
}

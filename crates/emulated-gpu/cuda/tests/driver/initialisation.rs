//! Initialisation (`cuInit`), properties of the card, and contexts.

use std::ffi::{CStr, c_char};

use crate::support::{code, cu, in_child, is_child, ok, output, returns, run_child};

#[test]
fn calls_before_init_fail() {
    in_child!(&[]);
    let (mut number, mut version) = (0i32, 0i32);
    returns!(code::NOT_INITIALIZED, cuDeviceGetCount(&raw mut number => *mut i32));
    returns!(code::NOT_INITIALIZED, cuCtxSynchronize());
    ok!(cuDriverGetVersion(&raw mut version => *mut i32));
    assert_eq!(version, 13_050);
    returns!(code::INVALID_VALUE, cuInit(1u32));
    returns!(code::NOT_INITIALIZED, cuDeviceGetCount(&raw mut number => *mut i32));
    ok!(cuInit(0u32));
    ok!(cuInit(0u32));
    ok!(cuDeviceGetCount(&raw mut number => *mut i32));
    assert_eq!(number, 1);
}

#[test]
fn an_invalid_environment_variable_is_named() {
    if !is_child() {
        let text = run_child!(&[("EMULATED_GPU_CHECKS", "memory,sped")]);
        assert!(text.contains("EMULATED_GPU_CHECKS: unknown check `sped`"), "{text}");
        return;
    }
    returns!(code::INVALID_VALUE, cuInit(0u32));
}

#[test]
fn errors_have_names_and_texts() {
    let text = |name: bool, error: u32| {
        let mut text: *const c_char = std::ptr::null();
        let code = if name {
            cu!(cuGetErrorName(error, &raw mut text))
        } else {
            cu!(cuGetErrorString(error, &raw mut text))
        };
        // SAFETY: the driver returns null, or a static text that ends in NUL.
        (code, (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap()))
    };
    assert_eq!(text(true, 0), (0, Some("CUDA_SUCCESS")));
    assert_eq!(text(true, 700), (0, Some("CUDA_ERROR_ILLEGAL_ADDRESS")));
    assert_eq!(text(false, 700), (0, Some("an illegal memory access was encountered")));
    assert_eq!(text(true, 12345), (code::INVALID_VALUE, None));
    assert_eq!(text(false, 12345), (code::INVALID_VALUE, None));
}

#[test]
fn the_card_identifies_itself_as_emulated() {
    ok!(cuInit(0u32));
    let mut name = [0u8; 128];
    ok!(cuDeviceGetName(name.as_mut_ptr(), 128 => i32, 0 => i32));
    let name = CStr::from_bytes_until_nul(&name).unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("Emulated GPU (") && name.ends_with(')'), "{name}");
    // The name is truncated to the buffer, including the NUL.
    let mut short = [9u8; 9];
    ok!(cuDeviceGetName(short.as_mut_ptr(), 8 => i32, 0 => i32));
    assert_eq!(&short, b"Emulate\0\x09");
    let attribute = |which: i32| {
        let mut value = -1;
        let code = cu!(cuDeviceGetAttribute(&raw mut value => *mut i32, which => i32, 0 => i32));
        (code, value)
    };
    let expected = [
        (1, 1024),
        (10, 32),
        (41, 1),
        (75, 9),
        (76, 0),
        (83, 1),
        (95, 1),
        (97, 227 << 10),
        (115, 1),
    ];
    for (which, value) in expected {
        assert_eq!(attribute(which), (0, value), "attribute {which}");
    }
    for which in 1..=135 {
        assert_eq!(attribute(which).0, 0, "attribute {which}");
    }
    assert_eq!(attribute(0).0, code::INVALID_VALUE);
    assert_eq!(attribute(9999).0, code::INVALID_VALUE);
    let mut device = 0;
    returns!(code::INVALID_DEVICE, cuDeviceGet(&raw mut device => *mut i32, 1 => i32));
    returns!(code::INVALID_DEVICE, cuDeviceGet(&raw mut device => *mut i32, -1 => i32));
    returns!(code::INVALID_VALUE, cuDeviceGet(std::ptr::null_mut() => *mut i32, 0 => i32));
    let bytes = output!(cuDeviceTotalMem_v2(-> usize, 0 => i32));
    assert!(bytes > 64 << 20);
}

#[test]
fn threads_have_stacks_of_contexts() {
    ok!(cuInit(0u32));
    std::thread::spawn(|| {
        let current = || output!(cuCtxGetCurrent(-> usize));
        assert_eq!(current(), 0);
        returns!(code::INVALID_CONTEXT, cuCtxSynchronize());
        let first = crate::support::context();
        let second = crate::support::context();
        assert_eq!(current(), second);
        let popped = output!(cuCtxPopCurrent_v2(-> usize));
        assert_eq!((popped, current()), (second, first));
        ok!(cuCtxPushCurrent_v2(second));
        ok!(cuCtxSetCurrent(first));
        assert_eq!(current(), first, "SetCurrent replaces the top");
        ok!(cuCtxDestroy_v2(second));
        returns!(code::INVALID_CONTEXT, cuCtxSetCurrent(second));
        returns!(code::INVALID_CONTEXT, cuCtxDestroy_v2(second));
        ok!(cuCtxDestroy_v2(first));
        returns!(code::INVALID_CONTEXT, cuCtxDestroy_v2(0usize));
    })
    .join()
    .unwrap();
}

#[test]
fn another_thread_notices_that_its_context_was_destroyed() {
    let context = crate::support::context();
    let (ready, is_ready) = std::sync::mpsc::channel::<()>();
    let (gone, is_gone) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        ok!(cuCtxSetCurrent(context));
        ok!(cuCtxSynchronize());
        ready.send(()).unwrap();
        is_gone.recv().unwrap();
        cu!(cuCtxSynchronize())
    });
    is_ready.recv().unwrap();
    ok!(cuCtxDestroy_v2(context));
    gone.send(()).unwrap();
    assert_eq!(other.join().unwrap(), code::CONTEXT_IS_DESTROYED);
}

#[test]
fn the_primary_context_lives_while_it_is_retained() {
    in_child!(&[]);
    ok!(cuInit(0u32));
    let retain = || output!(cuDevicePrimaryCtxRetain(-> usize, 0 => i32));
    let active = || {
        let (mut flags, mut active) = (0u32, 0i32);
        ok!(cuDevicePrimaryCtxGetState(0 => i32, &raw mut flags, &raw mut active => *mut i32));
        active
    };
    assert_eq!(active(), 0);
    returns!(code::INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0 => i32));
    let context = retain();
    assert_eq!(retain(), context);
    assert_eq!(active(), 1);
    returns!(code::INVALID_CONTEXT, cuCtxDestroy_v2(context));
    ok!(cuCtxSetCurrent(context));
    let address = crate::support::allocate(1000);
    ok!(cuDevicePrimaryCtxRelease_v2(0 => i32));
    assert_eq!(active(), 1);
    ok!(cuDevicePrimaryCtxRelease_v2(0 => i32));
    assert_eq!(active(), 0);
    returns!(code::CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    // The context is created again with the same handle, but its memory was freed.
    assert_eq!(retain(), context);
    ok!(cuCtxSynchronize());
    returns!(code::INVALID_VALUE, cuMemFree_v2(address));
}

#[test]
fn limits_can_be_set() {
    let context = crate::support::context();
    let mut value = output!(cuCtxGetLimit(-> usize, 0u32));
    assert_eq!(value, 1024);
    ok!(cuCtxSetLimit(0u32, 4096usize));
    ok!(cuCtxGetLimit(&raw mut value, 0u32));
    assert_eq!(value, 4096);
    returns!(code::UNSUPPORTED_LIMIT, cuCtxSetLimit(77u32, 1usize));
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn tensor_maps_and_checkpoints_are_not_supported() {
    let functions = [
        ("cuTensorMapEncodeTiled", 12_000),
        ("cuTensorMapEncodeIm2col", 12_000),
        ("cuTensorMapEncodeIm2colWide", 12_080),
        ("cuTensorMapReplaceAddress", 12_000),
        ("cuCheckpointProcessGetState", 12_080),
    ];
    if !is_child() {
        let text = run_child!(&[("CUDA_LOG_FILE", "stderr")]);
        for (name, _) in functions {
            let why = if name.starts_with("cuTensorMap") { "tensor maps" } else { "checkpoints" };
            assert!(
                text.lines().any(|line| {
                    line.contains(name) && line.contains(why) && line.contains("not emulated")
                }),
                "{name}: {text}"
            );
        }
        return;
    }
    ok!(cuInit(0u32));
    for (name, since) in functions {
        let symbol = crate::support::symbol::<unsafe extern "C" fn() -> u32>(name);
        let text = std::ffi::CString::new(name).unwrap();
        let look_up = |version: i32| {
            let (mut address, mut status) = (1usize, 9u32);
            ok!(cuGetProcAddress_v2(
                text.as_ptr(), &raw mut address, version => i32, 0 => u64, &raw mut status
            ));
            (address, status)
        };
        assert_eq!(look_up(since), (symbol as usize, 0), "{name}");
        assert_eq!(look_up(since - 10), (0, 2), "{name}: older programs don't find it");
        // SAFETY: the function ignores its arguments, and the caller removes them.
        assert_eq!(unsafe { symbol() }, code::NOT_SUPPORTED, "{name}");
    }
    // CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, by which a program detects support.
    let value = output!(cuDeviceGetAttribute(-> i32, 127 => i32, 0 => i32));
    assert_eq!(value, 0);
}

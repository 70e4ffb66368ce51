//! Corner cases in which the driver follows CUDA's documentation or, if it is silent, the hardware: synchronous
//! fills, freeing null or without a context, libraries, unknown addresses.

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::*;

unsafe extern "C" fn sleep(_: *mut c_void) {
    std::thread::sleep(Duration::from_millis(200));
}

#[test]
fn fills_of_host_memory_are_synchronous() {
    let _context = own_context();
    let null = std::ptr::null_mut::<c_void>();
    let registered = Box::leak(vec![0u32; 64].into_boxed_slice()).as_ptr() as u64;
    ok!(cuMemHostRegister_v2(registered as usize, 256usize, 0u32));
    for address in [pinned(256), managed(256), registered] {
        // Keeps the default stream busy.
        ok!(cuLaunchHostFunc(0usize, sleep => unsafe extern "C" fn(*mut c_void), null));
        ok!(cuMemsetD8_v2(address, 3u8, 4usize));
        assert_eq!(word(address).load(Ordering::SeqCst), 0x0303_0303);
        ok!(cuMemsetD16_v2(address, 4u16, 2usize));
        assert_eq!(word(address).load(Ordering::SeqCst), 0x0004_0004);
        ok!(cuMemsetD2D32_v2(address, 8usize, 5u32, 1usize, 2usize));
        assert_eq!(word(address).load(Ordering::SeqCst), 5);
    }
    // Fills of device memory are asynchronous.
    let (memory, gate) = (allocate(4), gate(0));
    ok!(cuMemsetD32_v2(memory, 9u32, 1usize));
    gate.open();
    assert_eq!(read(memory, 1), [9]);
    ok!(cuMemHostUnregister(registered as usize));
}

#[test]
fn freeing_null_succeeds() {
    ok!(cuInit(0u32));
    for _ in 0..2 {
        // First without a context, then with one.
        assert_eq!(cu!(cuMemFree_v2(0u64)), 0);
        assert_eq!(cu!(cuMemFreeHost(0usize)), 0);
        returns!(code::INVALID_VALUE, cuMemHostUnregister(0usize));
        context();
    }
    let mut context = 0usize;
    while cu!(cuCtxPopCurrent_v2(&raw mut context)) == 0 {
        ok!(cuCtxDestroy_v2(context));
    }
}

#[test]
fn memory_can_be_freed_without_a_context() {
    let mut context = context();
    let blocks = (allocate(64), pinned(64), managed(64), allocate(64));
    let registered = Box::leak(vec![0u32; 64].into_boxed_slice()).as_ptr() as usize;
    ok!(cuMemHostRegister_v2(registered, 256usize, 0u32));
    ok!(cuCtxPopCurrent_v2(&raw mut context));
    let mut address = 0u64;
    returns!(code::INVALID_CONTEXT, cuMemAlloc_v2(&raw mut address, 8usize));
    ok!(cuMemFree_v2(blocks.0));
    ok!(cuMemFreeHost(blocks.1 as usize));
    ok!(cuMemFree_v2(blocks.2));
    ok!(cuMemHostUnregister(registered));
    returns!(code::HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(registered));
    ok!(cuCtxDestroy_v2(context));
    // Its memory was freed together with the context.
    returns!(code::INVALID_VALUE, cuMemFree_v2(blocks.3));
}

#[test]
fn a_library_belongs_to_no_context() {
    ok!(cuInit(0u32));
    let text = std::ffi::CString::new(INCREMENT).unwrap();
    let (mut library, mut kernel, null) = (0usize, 0usize, std::ptr::null::<u32>());
    ok!(cuLibraryLoadData(&raw mut library, text.as_ptr(), null, null, 0u32, null, null, 0u32));
    let name = c"increment".as_ptr();
    ok!(cuLibraryGetKernel(&raw mut kernel, library, name));
    let second = |size: *mut usize| {
        let mut offset = 0usize;
        cu!(cuKernelGetParamInfo(kernel, 1usize, &raw mut offset, size))
    };
    let mut size = 0usize;
    assert_eq!(second(&raw mut size), code::INVALID_CONTEXT, "not loaded for any context yet");
    for _ in 0..2 {
        let context = context();
        assert_eq!((second(&raw mut size), size), (0, 8));
        let memory = allocate(16);
        ok!(cuMemsetD8_v2(memory, 0u8, 16usize));
        assert_eq!(launch(kernel, (1, 4), 0, &[memory, 4]), 0);
        assert_eq!(read(memory, 4), [1; 4]);
        // The library outlives the context.
        ok!(cuCtxDestroy_v2(context));
    }
    ok!(cuLibraryUnload(library));
}

#[test]
fn the_host_pointer_of_an_unknown_address_is_itself() {
    let _context = own_context();
    let attributes_of = |address: u64| {
        let (mut host, mut device, mut kind, mut ordinal) = (1u64, 1u64, 1u32, 1i32);
        let attributes = [4u32, 3, 2, 9];
        let data: [*mut c_void; 4] = [
            (&raw mut host).cast(),
            (&raw mut device).cast(),
            (&raw mut kind).cast(),
            (&raw mut ordinal).cast(),
        ];
        ok!(cuPointerGetAttributes(4u32, attributes.as_ptr(), data.as_ptr(), address));
        (host, device, kind, ordinal)
    };
    assert_eq!(attributes_of(0xdead), (0xdead, 0, 0, -2));
    assert_eq!(attributes_of(0), (0, 0, 0, -2));
    let memory = allocate(8);
    let expected = (0, memory, 2, 0);
    assert_eq!(attributes_of(memory), expected, "the host has no pointer to device memory");
    let mut host = 1u64;
    returns!(code::INVALID_VALUE, cuPointerGetAttribute(&raw mut host, 4u32, 0xdead_u64));
}

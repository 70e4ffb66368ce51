//! Memory of every kind: its properties, its lifetime, and errors.

use crate::support::{
    allocate, code, context, cu, in_child, memory_info, ok, output, own_context, read, returns,
    stream,
};

const NULL: *mut u64 = std::ptr::null_mut();
pub(crate) const WILD: u64 = 0xdead_beef_0000;

pub(crate) fn write(address: u64, values: &[u32]) {
    let bytes = size_of_val(values);
    ok!(cuMemcpyHtoD_v2(address => u64, values.as_ptr() => *const u32, bytes => usize));
}

#[test]
fn invalid_allocations_and_frees_are_rejected() {
    let _context = own_context();
    let mut address = 0u64;
    returns!(code::INVALID_VALUE, cuMemAlloc_v2(&raw mut address => *mut u64, 0 => usize));
    returns!(code::INVALID_VALUE, cuMemAlloc_v2(NULL => *mut u64, 8 => usize));
    returns!(code::OUT_OF_MEMORY, cuMemAlloc_v2(&raw mut address => *mut u64, 1 << 60 => usize));
    returns!(code::OUT_OF_MEMORY, cuMemAlloc_v2(&raw mut address => *mut u64, usize::MAX => usize));
    returns!(code::INVALID_VALUE, cuMemFree_v2(WILD => u64));
    let block = allocate(100);
    returns!(code::INVALID_VALUE, cuMemFree_v2(block + 4 => u64), "not its beginning");
    ok!(cuMemFree_v2(block => u64));
    returns!(code::INVALID_VALUE, cuMemFree_v2(block => u64), "twice");
    returns!(code::INVALID_VALUE, cuMemFreeHost(block as usize => usize));
    ok!(cuCtxSynchronize());
}

#[test]
fn free_memory_is_counted() {
    // Runs in a separate process, because other tests allocate memory, too.
    let variables = [("EMULATED_GPU_MEMORY", "1M")];
    in_child!(&variables);
    context();
    assert_eq!(memory_info(), (1 << 20, 1 << 20));
    let block = allocate(1000);
    assert_eq!(memory_info(), ((1 << 20) - 1024, 1 << 20));
    let mut other = 0u64;
    returns!(code::OUT_OF_MEMORY, cuMemAlloc_v2(&raw mut other => *mut u64, 1 << 20 => usize));
    ok!(cuMemFree_v2(block => u64));
    assert_eq!(memory_info().0, 1 << 20);
    ok!(cuMemAlloc_v2(&raw mut other => *mut u64, 1 << 20 => usize));
    // Host memory doesn't count as memory of the card.
    let host = output!(cuMemHostAlloc(-> usize, 4096 => usize, 0 => u32));
    assert_eq!(memory_info().0, 0);
    ok!(cuMemFreeHost(host => usize));
}

#[test]
fn managed_memory_is_shared_by_host_and_device() {
    let _context = own_context();
    let mut block = 0u64;
    let flags = cu!(cuMemAllocManaged(&raw mut block => *mut u64, 16 => usize, 4 => u32));
    assert_eq!(flags, code::INVALID_VALUE);
    ok!(cuMemAllocManaged(&raw mut block => *mut u64, 16 => usize, 1 => u32));
    ok!(cuMemsetD32_v2(block => u64, 7 => u32, 4 => usize));
    ok!(cuCtxSynchronize());
    // SAFETY: this is managed memory, and no work is running.
    let host = unsafe { std::slice::from_raw_parts_mut(block as *mut u32, 4) };
    assert_eq!(host, [7; 4]);
    host[1] = 8;
    assert_eq!(read(block, 2), [7, 8]);
    // Advice is stored.
    ok!(cuMemAdvise(block => u64, 16 => usize, 1 => u32, 0 => i32));
    ok!(cuMemAdvise(block => u64, 16 => usize, 3 => u32, -1 => i32));
    ok!(cuMemPrefetchAsync(block => u64, 16 => usize, 0 => i32, 0 => usize));
    let attribute = |which: u32| {
        let mut value = 99i32;
        ok!(cuMemRangeGetAttribute(
            &raw mut value => *mut i32, 4 => usize, which => u32, block => u64, 16 => usize
        ));
        value
    };
    assert_eq!([1, 2, 3, 4].map(attribute), [1, -1, -2, 0]);
    // The accessors: devices, then the host.
    let accessed_by = || {
        let mut values = [9i32; 3];
        ok!(cuMemRangeGetAttribute(
            values.as_mut_ptr() => *mut i32, 12 => usize, 3 => u32, block => u64, 16 => usize
        ));
        values
    };
    for (advice, device, expected) in
        [(5, -1, [-1, -2, -2]), (5, 0, [0, -1, -2]), (5, 0, [0, -1, -2]), (6, -1, [0, -2, -2])]
    {
        ok!(cuMemAdvise(block => u64, 16 => usize, advice => u32, device => i32));
        assert_eq!(accessed_by(), expected);
    }
    returns!(code::INVALID_VALUE, cuMemAdvise(block => u64, 16 => usize, 9 => u32, 0 => i32));
    let device = allocate(16);
    returns!(code::INVALID_VALUE, cuMemAdvise(device => u64, 16 => usize, 1 => u32, 0 => i32));
    returns!(code::INVALID_VALUE, cuMemPrefetchAsync(
        device => u64, 16 => usize, 0 => i32, 0 => usize
    ));
    ok!(cuMemFree_v2(block => u64));
}

#[test]
fn host_memory_is_registered_once() {
    let _context = own_context();
    let mut host = vec![1u32; 1024];
    let address = host.as_mut_ptr();
    ok!(cuMemHostRegister_v2(address => *mut u32, 4096 => usize, 0 => u32));
    returns!(code::HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(
        address => *mut u32, 16 => usize, 0 => u32
    ));
    let device = output!(cuMemHostGetDevicePointer_v2(-> u64, address => *mut u32, 0 => u32));
    assert_eq!(device, address as u64);
    ok!(cuMemsetD32_v2(device => u64, 3 => u32, 1024 => usize));
    let inside = address.wrapping_add(1);
    returns!(code::INVALID_VALUE, cuMemHostUnregister(inside => *mut u32));
    ok!(cuMemHostUnregister(address => *mut u32));
    assert_eq!(host, [3; 1024], "unregistering waits for the fill");
    returns!(code::HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(address => *mut u32));
    let null = std::ptr::null_mut::<u32>();
    returns!(code::INVALID_VALUE, cuMemHostRegister_v2(null => *mut u32, 16 => usize, 0 => u32));
}

#[test]
fn addresses_have_attributes() {
    let _context = own_context();
    let block = allocate(1000);
    let (mut base, mut size) = (0u64, 0usize);
    ok!(cuMemGetAddressRange_v2(&raw mut base => *mut u64, &raw mut size => *mut usize, block + 999 => u64));
    assert_eq!((base, size), (block, 1000));
    let (base, size) = (&raw mut base, &raw mut size);
    returns!(code::NOT_FOUND, cuMemGetAddressRange_v2(
        base => *mut u64, size => *mut usize, block + 1000 => u64
    ));
    let kind = |address: u64| {
        let mut value = 0u32;
        let code = cu!(cuPointerGetAttribute(&raw mut value => *mut u32, 2 => u32, address => u64));
        (code, value)
    };
    assert_eq!(kind(block), (0, 2));
    let host = output!(cuMemAllocHost_v2(-> u64, 64 => usize));
    assert_eq!(kind(host), (0, 1));
    assert_eq!(kind(WILD).0, code::INVALID_VALUE);
    // A query for several attributes never fails: those of unknown memory are 0.
    let (mut first, mut second) = (9u64, 9i32);
    let data = [(&raw mut first) as usize, (&raw mut second) as usize];
    let which = [11u32, 9];
    ok!(cuPointerGetAttributes(
        2 => u32, which.as_ptr() => *const u32, data.as_ptr() => *const usize, WILD => u64
    ));
    // SAFETY: the call has written both.
    assert_eq!(unsafe { ((&raw const first).read(), (&raw const second).read()) }, (0, -2));
}

#[test]
fn pooled_memory_is_freed_in_order() {
    let _context = own_context();
    let stream = stream(1);
    let mut block = 1u64;
    ok!(cuMemAllocAsync(&raw mut block => *mut u64, 0 => usize, stream => usize));
    assert_eq!(block, 0, "the address of an empty allocation is null");
    ok!(cuMemFreeAsync(block => u64, stream => usize));
    ok!(cuMemAllocAsync(&raw mut block => *mut u64, 64 => usize, stream => usize));
    ok!(cuMemsetD32Async(block => u64, 6 => u32, 16 => usize, stream => usize));
    let mut host = [0u32; 16];
    ok!(cuMemcpyDtoHAsync_v2(host.as_mut_ptr() => *mut u32, block => u64, 64 => usize, stream => usize));
    ok!(cuMemFreeAsync(block => u64, stream => usize));
    returns!(code::INVALID_VALUE, cuMemFreeAsync(block => u64, stream => usize), "twice");
    ok!(cuStreamSynchronize(stream => usize));
    assert_eq!(host, [6; 16]);
    let mut range = 0u64;
    returns!(code::NOT_FOUND, cuMemGetAddressRange_v2(
        &raw mut range => *mut u64, NULL => *mut u64, block => u64
    ));
    // A pool with a limit.
    #[repr(C)]
    struct Properties {
        numbers: [i32; 4],
        security: usize,
        max: usize,
        rest: [u64; 7],
    }
    let properties = Properties { numbers: [1, 0, 1, 0], security: 0, max: 1024, rest: [0; 7] };
    let pool = output!(cuMemPoolCreate(-> usize, &raw const properties => *const Properties));
    let from_pool = |size: usize| {
        let mut address = 0u64;
        let code = cu!(cuMemAllocFromPoolAsync(
            &raw mut address => *mut u64, size => usize, pool => usize, stream => usize
        ));
        (code, address)
    };
    let (first, address) = from_pool(1024);
    assert_eq!(first, 0);
    assert_eq!(from_pool(1).0, code::OUT_OF_MEMORY);
    let attribute =
        |which: u32| output!(cuMemPoolGetAttribute(pool => usize, which => u32, -> u64));
    assert_eq!(attribute(7), 1024);
    ok!(cuMemFreeAsync(address => u64, stream => usize));
    ok!(cuStreamSynchronize(stream => usize));
    assert_eq!((attribute(7), attribute(8)), (0, 1024));
    ok!(cuMemPoolDestroy(pool => usize));
    returns!(code::INVALID_VALUE, cuMemPoolDestroy(pool => usize));
}

#[test]
fn copies_next_to_an_allocation_are_rejected() {
    let _context = own_context();
    let (block, freed) = (allocate(100), allocate(100));
    let pinned = output!(cuMemHostAlloc(-> usize, 64 => usize, 0 => u32));
    ok!(cuMemFree_v2(freed => u64));
    let mut host = [7u8; 256];
    let mut copy_outside = |at: u64, len: usize| {
        let to_host = cu!(cuMemcpy(host.as_mut_ptr() as u64 => u64, at => u64, len => usize));
        let to_device = cu!(cuMemcpyHtoD_v2(block => u64, at as usize => usize, len => usize));
        (to_host, to_device)
    };
    let rejected = (code::INVALID_VALUE, code::INVALID_VALUE);
    let page = pinned as u64;
    for at in [block + 100, block - 1, block - 256, block + 355, freed, freed + 99, page + 64] {
        assert_eq!(copy_outside(at, 1), rejected, "{:#x} next to {block:#x}", at);
    }
    assert_eq!(copy_outside(block + 90, 20), rejected, "the range ends after the allocation");
    assert_eq!(copy_outside(page - 1, 2), rejected);
    assert_eq!(copy_outside(page, 64), (0, 0), "pinned memory is the program's");
    assert_eq!(host[255], 7);
}

#[test]
fn copies_far_from_every_allocation_are_rejected() {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let addresses = limits.lines().find(|line| line.starts_with("Max address space")).unwrap();
    if !addresses.contains("unlimited") {
        skipped::note("`ulimit -v` limits the address space, so the driver reserves no addresses");
        return;
    }
    let _context = own_context();
    let (block, mut host) = (allocate(100), [7u8; 16]);
    for at in [block + (1 << 14), block + (1 << 20) + 3, block + (1 << 30), block + (1 << 36)] {
        let to_host = cu!(cuMemcpy(host.as_mut_ptr() as u64 => u64, at => u64, 16 => usize));
        let to_device = cu!(cuMemcpyHtoD_v2(block => u64, at as usize => usize, 16 => usize));
        let within = cu!(cuMemcpy(block => u64, at => u64, 16 => usize));
        let from = cu!(cuMemcpyDtoH_v2(at as usize => usize, block => u64, 16 => usize));
        assert_eq!([to_host, to_device, within, from], [code::INVALID_VALUE; 4], "{at:#x}");
        let registered = cu!(cuMemHostRegister_v2(at as usize => usize, 16 => usize, 0 => u32));
        assert_eq!(registered, code::INVALID_VALUE, "{at:#x}");
    }
    assert_eq!(host, [7; 16]);
    // Ordinary host memory is still accepted.
    ok!(cuMemcpy(block => u64, host.as_ptr() as u64 => u64, 16 => usize));
}

//! Memory of every kind: its properties, its lifetime, and errors.

use crate::support::*;

const NULL: *mut u64 = std::ptr::null_mut();
pub(crate) const WILD: u64 = 0xdead_beef_0000;

pub(crate) fn write(address: u64, values: &[u32]) {
    let bytes = size_of_val(values);
    ok!(cuMemcpyHtoD_v2(address, values.as_ptr(), bytes));
}

#[test]
fn invalid_allocations_and_frees_are_rejected() {
    let _context = own_context();
    let mut address = 0u64;
    returns!(code::INVALID_VALUE, cuMemAlloc_v2(&raw mut address, 0usize));
    returns!(code::INVALID_VALUE, cuMemAlloc_v2(NULL, 8usize));
    returns!(code::OUT_OF_MEMORY, cuMemAlloc_v2(&raw mut address, 1 << 60 => usize));
    returns!(code::OUT_OF_MEMORY, cuMemAlloc_v2(&raw mut address, usize::MAX));
    returns!(code::INVALID_VALUE, cuMemFree_v2(WILD));
    let block = allocate(100);
    returns!(code::INVALID_VALUE, cuMemFree_v2(block + 4), "not its beginning");
    ok!(cuMemFree_v2(block));
    returns!(code::INVALID_VALUE, cuMemFree_v2(block), "twice");
    returns!(code::INVALID_VALUE, cuMemFreeHost(block as usize));
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
    returns!(code::OUT_OF_MEMORY, cuMemAlloc_v2(&raw mut other, 1 << 20 => usize));
    ok!(cuMemFree_v2(block));
    assert_eq!(memory_info().0, 1 << 20);
    ok!(cuMemAlloc_v2(&raw mut other, 1 << 20 => usize));
    // Host memory doesn't count as memory of the card.
    let host = output!(cuMemHostAlloc(-> usize, 4096usize, 0u32));
    assert_eq!(memory_info().0, 0);
    ok!(cuMemFreeHost(host));
}

#[test]
fn managed_memory_is_shared_by_host_and_device() {
    let _context = own_context();
    let mut block = 0u64;
    let flags = cu!(cuMemAllocManaged(&raw mut block, 16usize, 4u32));
    assert_eq!(flags, code::INVALID_VALUE);
    ok!(cuMemAllocManaged(&raw mut block, 16usize, 1u32));
    ok!(cuMemsetD32_v2(block, 7u32, 4usize));
    ok!(cuCtxSynchronize());
    // SAFETY: this is managed memory, and no work is running.
    let host = unsafe { std::slice::from_raw_parts_mut(block as *mut u32, 4) };
    assert_eq!(host, [7; 4]);
    host[1] = 8;
    assert_eq!(read(block, 2), [7, 8]);
    // Advice is stored.
    ok!(cuMemAdvise(block, 16usize, 1u32, 0 => i32));
    ok!(cuMemAdvise(block, 16usize, 3u32, -1 => i32));
    ok!(cuMemPrefetchAsync(block, 16usize, 0 => i32, 0usize));
    let attribute = |which: u32| {
        let mut value = 99i32;
        ok!(cuMemRangeGetAttribute(&raw mut value => *mut i32, 4usize, which, block, 16usize));
        value
    };
    assert_eq!([1, 2, 3, 4].map(attribute), [1, -1, -2, 0]);
    // The attribute lists the accessing devices, and then the host.
    let accessed_by = || {
        let mut values = [9i32; 3];
        ok!(cuMemRangeGetAttribute(values.as_mut_ptr() => *mut i32, 12usize, 3u32, block, 16usize));
        values
    };
    for (advice, device, expected) in
        [(5, -1, [-1, -2, -2]), (5, 0, [0, -1, -2]), (5, 0, [0, -1, -2]), (6, -1, [0, -2, -2])]
    {
        ok!(cuMemAdvise(block, 16usize, advice => u32, device => i32));
        assert_eq!(accessed_by(), expected);
    }
    returns!(code::INVALID_VALUE, cuMemAdvise(block, 16usize, 9u32, 0 => i32));
    let device = allocate(16);
    returns!(code::INVALID_VALUE, cuMemAdvise(device, 16usize, 1u32, 0 => i32));
    returns!(code::INVALID_VALUE, cuMemPrefetchAsync(device, 16usize, 0 => i32, 0usize));
    ok!(cuMemFree_v2(block));
}

#[test]
fn host_memory_is_registered_once() {
    let _context = own_context();
    let mut host = vec![1u32; 1024];
    let address = host.as_mut_ptr();
    ok!(cuMemHostRegister_v2(address, 4096usize, 0u32));
    returns!(code::HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(address, 16usize, 0u32));
    let device = output!(cuMemHostGetDevicePointer_v2(-> u64, address, 0u32));
    assert_eq!(device, address as u64);
    ok!(cuMemsetD32_v2(device, 3u32, 1024usize));
    let inside = address.wrapping_add(1);
    returns!(code::INVALID_VALUE, cuMemHostUnregister(inside));
    ok!(cuMemHostUnregister(address));
    assert_eq!(host, [3; 1024], "unregistering waits for the fill");
    returns!(code::HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(address));
    let null = std::ptr::null_mut::<u32>();
    returns!(code::INVALID_VALUE, cuMemHostRegister_v2(null, 16usize, 0u32));
}

#[test]
fn addresses_have_attributes() {
    let _context = own_context();
    let block = allocate(1000);
    let (mut base, mut size) = (0u64, 0usize);
    ok!(cuMemGetAddressRange_v2(&raw mut base, &raw mut size, block + 999));
    assert_eq!((base, size), (block, 1000));
    let (base, size) = (&raw mut base, &raw mut size);
    returns!(code::NOT_FOUND, cuMemGetAddressRange_v2(base, size, block + 1000));
    let kind = |address: u64| {
        let mut value = 0u32;
        let code = cu!(cuPointerGetAttribute(&raw mut value, 2u32, address));
        (code, value)
    };
    assert_eq!(kind(block), (0, 2));
    let host = output!(cuMemAllocHost_v2(-> u64, 64usize));
    assert_eq!(kind(host), (0, 1));
    assert_eq!(kind(WILD).0, code::INVALID_VALUE);
    // A query for several attributes never fails: the attributes of unknown memory are 0.
    let (mut first, mut second) = (9u64, 9i32);
    let data = [(&raw mut first) as usize, (&raw mut second) as usize];
    let which = [11u32, 9];
    ok!(cuPointerGetAttributes(2u32, which.as_ptr(), data.as_ptr(), WILD));
    // SAFETY: the call has written both.
    assert_eq!(unsafe { ((&raw const first).read(), (&raw const second).read()) }, (0, -2));
}

#[test]
fn pooled_memory_is_freed_in_order() {
    let _context = own_context();
    let stream = stream(1);
    let mut block = 1u64;
    ok!(cuMemAllocAsync(&raw mut block, 0usize, stream));
    assert_eq!(block, 0, "the address of an empty allocation is null");
    ok!(cuMemFreeAsync(block, stream));
    ok!(cuMemAllocAsync(&raw mut block, 64usize, stream));
    ok!(cuMemsetD32Async(block, 6u32, 16usize, stream));
    let mut host = [0u32; 16];
    ok!(cuMemcpyDtoHAsync_v2(host.as_mut_ptr(), block, 64usize, stream));
    ok!(cuMemFreeAsync(block, stream));
    returns!(code::INVALID_VALUE, cuMemFreeAsync(block, stream), "twice");
    ok!(cuStreamSynchronize(stream));
    assert_eq!(host, [6; 16]);
    let mut range = 0u64;
    returns!(code::NOT_FOUND, cuMemGetAddressRange_v2(&raw mut range, NULL, block));
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
        let code = cu!(cuMemAllocFromPoolAsync(&raw mut address, size, pool, stream));
        (code, address)
    };
    let (first, address) = from_pool(1024);
    assert_eq!(first, 0);
    assert_eq!(from_pool(1).0, code::OUT_OF_MEMORY);
    let attribute = |which: u32| output!(cuMemPoolGetAttribute(pool, which, -> u64));
    assert_eq!(attribute(7), 1024);
    ok!(cuMemFreeAsync(address, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!((attribute(7), attribute(8)), (0, 1024));
    ok!(cuMemPoolDestroy(pool));
    returns!(code::INVALID_VALUE, cuMemPoolDestroy(pool));
}

#[test]
fn copies_next_to_an_allocation_are_rejected() {
    let _context = own_context();
    let (block, freed) = (allocate(100), allocate(100));
    let pinned = output!(cuMemHostAlloc(-> usize, 64usize, 0u32));
    ok!(cuMemFree_v2(freed));
    let mut host = [7u8; 256];
    let mut copy_outside = |at: u64, len: usize| {
        let to_host = cu!(cuMemcpy(host.as_mut_ptr() as u64, at, len));
        let to_device = cu!(cuMemcpyHtoD_v2(block, at as usize, len));
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
        let to_host = cu!(cuMemcpy(host.as_mut_ptr() as u64, at, 16usize));
        let to_device = cu!(cuMemcpyHtoD_v2(block, at as usize, 16usize));
        let within = cu!(cuMemcpy(block, at, 16usize));
        let from = cu!(cuMemcpyDtoH_v2(at as usize, block, 16usize));
        assert_eq!([to_host, to_device, within, from], [code::INVALID_VALUE; 4], "{at:#x}");
        let registered = cu!(cuMemHostRegister_v2(at as usize, 16usize, 0u32));
        assert_eq!(registered, code::INVALID_VALUE, "{at:#x}");
    }
    assert_eq!(host, [7; 16]);
    // Ordinary host memory is still accepted.
    ok!(cuMemcpy(block, host.as_ptr() as u64, 16usize));
}

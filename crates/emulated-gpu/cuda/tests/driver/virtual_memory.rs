//! Virtual memory management: reserving addresses, creating physical memory, and mapping it (CUDA Driver API,
//! "Virtual Memory Management").

mod rules;
mod sharing;

use crate::support::*;

const MIB2: usize = 2 << 20;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`
const DESCRIPTOR: i32 = 1;

/// `CUmemAllocationProp`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Properties {
    kind: i32,
    handle_types: i32,
    location: [i32; 2],
    windows: usize,
    compression: u8,
    rdma: u8,
    usage: u16,
    reserved: [u8; 4],
}

const PLAIN: Properties = Properties {
    kind: 1,
    handle_types: 0,
    location: [1, 0],
    windows: 0,
    compression: 0,
    rdma: 0,
    usage: 0,
    reserved: [0; 4],
};

/// `CUmemAccessDesc`
#[repr(C)]
struct Access {
    location: [i32; 2],
    flags: i32,
}

/// A context for the test, if virtual memory management is supported.
fn start() -> Option<usize> {
    let context = context();
    if attribute(102) == 0 {
        skipped::note("this process may not create memory files (memfd_create)");
        return None;
    }
    Some(context)
}

fn reserve(size: usize) -> u64 {
    let address = output!(cuMemAddressReserve(-> u64, size, 0usize, 0u64, 0u64));
    assert!(address.is_multiple_of(MIB2 as u64), "{address:#x}");
    address
}

fn create_as(size: usize, properties: Properties) -> (u32, usize) {
    let mut handle = 0;
    let code = cu!(cuMemCreate(
        &raw mut handle => *mut usize, size => usize, &raw const properties => *const Properties, 0 => u64
    ));
    (code, handle)
}

fn create(size: usize) -> usize {
    let (code, handle) = create_as(size, PLAIN);
    assert_eq!(code, 0);
    handle
}

fn map(address: u64, size: usize, handle: usize) -> u32 {
    cu!(cuMemMap(address, size, 0usize, handle, 0u64))
}

fn set_access(address: u64, size: usize, flags: i32) -> u32 {
    let access = Access { location: [1, 0], flags };
    cu!(cuMemSetAccess(address, size, &raw const access => *const Access, 1usize))
}

fn unmap(address: u64, size: usize) -> u32 {
    cu!(cuMemUnmap(address, size))
}

fn release(handle: usize) -> u32 {
    cu!(cuMemRelease(handle))
}

/// Creates physical memory, maps it at new addresses with read and write access, and releases its handle.
fn mapped(size: usize) -> u64 {
    let (address, handle) = (reserve(size), create(size));
    assert_eq!(map(address, size, handle), 0);
    assert_eq!(set_access(address, size, 3), 0);
    assert_eq!(release(handle), 0);
    address
}

fn unmap_and_free(address: u64, size: usize) {
    assert_eq!(unmap(address, size), 0);
    ok!(cuMemAddressFree(address, size));
}

fn fill(address: u64, value: u32, count: usize) -> u32 {
    cu!(cuMemsetD32_v2(address, value, count))
}

fn try_read(address: u64) -> u32 {
    let mut word = 0u32;
    cu!(cuMemcpyDtoH_v2(&raw mut word, address, 4usize))
}

#[test]
fn two_mappings_of_one_handle_are_the_same_bytes() {
    let Some(context) = start() else { return };
    let increment = function(module(INCREMENT), "increment");
    let (first, second, handle) = (reserve(2 * MIB2), reserve(MIB2), create(MIB2));
    // Map the memory in the middle of one reservation, and over the whole of another.
    let first_half = first + MIB2 as u64;
    for address in [first_half, second] {
        assert_eq!(map(address, MIB2, handle), 0);
        assert_eq!(set_access(address, MIB2, 3), 0);
    }
    assert_eq!(read(second, 4), [0; 4], "new memory is zero");
    assert_eq!(fill(first_half, 7, MIB2 / 4), 0);
    assert_eq!(launch(increment, (1, 32), 0, &[second, 32]), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(read(first_half, 33), [vec![8; 32], vec![7]].concat());
    // After the handle is released and one mapping removed, the other mapping still has the memory.
    assert_eq!((release(handle), release(handle)), (0, code::INVALID_VALUE));
    assert_eq!(unmap(second, MIB2), 0);
    assert_eq!(read(first_half, 1), [8]);
    // The handle can be retrieved by an address, and the memory mapped again.
    let again = output!(cuMemRetainAllocationHandle(-> usize, first_half + 100));
    assert_eq!(again, handle);
    assert_eq!((map(second, MIB2, again), set_access(second, MIB2, 1)), (0, 0));
    assert_eq!(unmap(first_half, MIB2), 0);
    assert_eq!(read(second, 1), [8]);
    assert_eq!(release(again), 0);
    unmap_and_free(second, MIB2);
    ok!(cuMemAddressFree(first, 2 * MIB2 => usize));
    // New memory is always zero.
    let fresh = mapped(MIB2);
    assert_eq!(read(fresh, MIB2 / 4), vec![0; MIB2 / 4]);
    unmap_and_free(fresh, MIB2);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn memory_counts_from_its_creation_to_its_last_mapping() {
    in_child!(&[("EMULATED_GPU_MEMORY", "2G")]);
    if start().is_none() {
        return;
    }
    let before = free_memory();
    // Reserved addresses use no memory, and may exceed the device's memory.
    let address = reserve(8 << 30);
    assert_eq!(free_memory(), before);
    let handle = create(3 * MIB2);
    assert_eq!(before - free_memory(), 3 * MIB2);
    assert_eq!(map(address, 3 * MIB2, handle), 0);
    assert_eq!(release(handle), 0);
    assert_eq!(before - free_memory(), 3 * MIB2);
    assert_eq!(unmap(address, 3 * MIB2), 0);
    assert_eq!(free_memory(), before);
    // Request more memory than the device has, with and without existing allocations.
    assert_eq!(create_as(3 << 30, PLAIN).0, code::OUT_OF_MEMORY);
    assert_eq!(create_as(usize::MAX / MIB2 * MIB2, PLAIN).0, code::OUT_OF_MEMORY);
    let memory = crate::support::allocate(3 << 29);
    assert_eq!(create_as(1 << 30, PLAIN).0, code::OUT_OF_MEMORY);
    ok!(cuMemFree_v2(memory));
    // Create more pieces of memory than this process may have open files.
    let few = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    // SAFETY: the process only runs this test.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const few) }, 0);
    let many: Vec<usize> = (0..700).map(|_| create(MIB2)).collect();
    let mut other = 0u64;
    returns!(code::OUT_OF_MEMORY, cuMemAlloc_v2(&raw mut other, 1 << 30 => usize));
    for (index, handle) in many.iter().enumerate() {
        assert_eq!(map(address + (index * MIB2) as u64, MIB2, *handle), 0);
    }
    let whole = many.len() * MIB2;
    assert_eq!(set_access(address, whole, 3), 0);
    assert_eq!(fill(address + (whole - MIB2) as u64 - 8, 5, 4), 0);
    assert_eq!(read(address + (whole - MIB2) as u64 - 12, 6), [0, 5, 5, 5, 5, 0]);
    assert!(many.into_iter().all(|handle| release(handle) == 0));
    assert_eq!(unmap(address, whole), 0);
    assert_eq!(free_memory(), before);
    ok!(cuMemAddressFree(address, 8 << 30 => usize));
}

#[test]
fn accesses_without_mapping_or_permission_fault_with_a_report() {
    if !is_child() {
        if start().is_none() {
            return;
        }
        for (case, part) in [
            ("reserved", "addresses that were reserved at"),
            ("closed", "device 0 may not read them: set access rights first (cuMemSetAccess)"),
            ("read only", "device 0 may not write them: set access rights first (cuMemSetAccess)"),
            ("unmapped", "no memory is mapped there (cuMemMap)"),
            ("beyond", "no memory is mapped there (cuMemMap)"),
        ] {
            let text = run_child!(&[("CASE", case)]);
            assert!(text.contains(part), "{case}: no {part:?} in:\n{text}");
        }
        return;
    }
    if start().is_none() {
        return;
    }
    let increment = function(module(INCREMENT), "increment");
    let (address, handle) = (reserve(2 * MIB2), create(MIB2));
    let case = std::env::var("CASE").unwrap();
    if case != "reserved" {
        assert_eq!(map(address, MIB2, handle), 0);
    }
    let mut at = address;
    match &*case {
        "read only" => assert_eq!(set_access(address, MIB2, 1), 0),
        "unmapped" => {
            assert_eq!((set_access(address, MIB2, 3), fill(address, 1, 4)), (0, 0));
            // The fill is asynchronous, and unmapping only waits for work that is running.
            ok!(cuCtxSynchronize());
            assert_eq!(unmap(address, MIB2), 0);
        }
        "beyond" => {
            assert_eq!(set_access(address, MIB2, 3), 0);
            at += (MIB2 - 4) as u64;
            assert_eq!(fill(at, 1, 1), 0);
            assert_eq!(fill(at, 1, 2), code::INVALID_VALUE);
        }
        _ => {}
    }
    // Copies and fills are rejected when they are requested.
    if case != "beyond" {
        let readable = if case == "read only" { 0 } else { code::INVALID_VALUE };
        assert_eq!(try_read(at), readable);
        assert_eq!(fill(at, 1, 4), code::INVALID_VALUE);
        returns!(code::INVALID_VALUE, cuMemcpy(address, (&raw const increment) as u64, 8usize));
    }
    // An access by a kernel makes the context unusable.
    assert_eq!(launch(increment, (1, 2), 0, &[at, 2]), 0);
    returns!(code::ILLEGAL_ADDRESS, cuCtxSynchronize());
}

#[test]
fn a_pending_copy_fails_if_access_is_removed() {
    let Some(context) = start() else { return };
    let stream = stream(1);
    let address = mapped(MIB2);
    let gate = gate(stream);
    ok!(cuMemsetD32Async(address, 3u32, 4usize, stream));
    assert_eq!(set_access(address, MIB2, 0), 0);
    gate.open();
    returns!(code::ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    unmap_and_free(address, MIB2);
    let _ = cu!(cuCtxDestroy_v2(context));
}

#[test]
fn unreleased_memory_is_reported_at_exit() {
    if !is_child() {
        if start().is_none() {
            return;
        }
        let text = run_child!(&[("EMULATED_GPU_LEAKS", "1")]);
        let both =
            "4194304 bytes in 1 allocation were never freed\n  4194304 bytes of physical memory";
        assert!(text.contains(both), "{text}");
        return;
    }
    let Some(context) = start() else { return };
    let address = mapped(MIB2);
    unmap_and_free(address, MIB2);
    let (address, handle) = (reserve(2 * MIB2), create(2 * MIB2));
    assert_eq!((map(address, 2 * MIB2, handle), release(handle)), (0, 0));
    ok!(cuCtxDestroy_v2(context));
}

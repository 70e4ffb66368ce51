//! Errors of virtual memory management, and the attributes of addresses.

use super::{
    MIB2, PLAIN, Properties, attribute, create, create_as, map, release, reserve, set_access,
    start, unmap,
};
use crate::support::{code, cu, ok, output, returns};

#[test]
fn only_whole_mappings_can_be_unmapped() {
    let Some(context) = start() else { return };
    let address = reserve(4 * MIB2);
    let at = |index: usize| address + (index * MIB2) as u64;
    let handles = [create(MIB2), create(2 * MIB2)];
    let wrong = code::INVALID_VALUE;
    // Invalid mappings: not reserved, past the end, misaligned, larger than the memory, an unknown handle, a non-zero
    // offset.
    assert_eq!(map(MIB2 as u64, MIB2, handles[0]), wrong);
    assert_eq!(map(at(3), 2 * MIB2, handles[1]), wrong);
    assert_eq!(map(at(0) + 4096, MIB2, handles[0]), wrong);
    assert_eq!(map(at(0), 4096, handles[0]), wrong);
    assert_eq!(map(at(0), 0, handles[0]), wrong);
    assert_eq!(map(at(0), 2 * MIB2, handles[0]), wrong);
    assert_eq!(map(at(0), MIB2, 0xbad), wrong);
    returns!(wrong, cuMemMap(at(0), MIB2, MIB2, handles[1], 0u64));
    assert_eq!((map(at(0), MIB2, handles[0]), map(at(1), 2 * MIB2, handles[1])), (0, 0));
    assert_eq!(map(at(2), MIB2, handles[0]), wrong, "the addresses are in use");
    for (start, size) in [
        (at(1), MIB2),
        (at(2), MIB2),
        (at(0), 2 * MIB2),
        (at(0), 4 * MIB2),
        (at(3), MIB2),
        (at(0), 0),
        (at(0) + 4096, MIB2),
        (0, MIB2),
        (at(0), usize::MAX),
    ] {
        assert_eq!(unmap(start, size), wrong, "{start:#x} {size}");
        assert_eq!(set_access(start, size, 3), wrong, "{start:#x} {size}");
    }
    assert_eq!(set_access(at(0), 3 * MIB2, 2), wrong, "these access flags don't exist");
    assert_eq!(set_access(at(0), 3 * MIB2, 3), 0);
    returns!(wrong, cuMemFree_v2(at(0)));
    returns!(wrong, cuMemAddressFree(address, 4 * MIB2 => usize), "in use");
    assert_eq!(unmap(at(0), 3 * MIB2), 0, "two mappings at once");
    returns!(wrong, cuMemAddressFree(address, 2 * MIB2 => usize));
    returns!(wrong, cuMemAddressFree(at(1), 3 * MIB2 => usize));
    ok!(cuMemAddressFree(address, 4 * MIB2 => usize));
    returns!(wrong, cuMemAddressFree(address, 4 * MIB2 => usize));
    assert!(handles.into_iter().all(|handle| release(handle) == 0));
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn invalid_creations_and_reservations_are_rejected() {
    let Some(context) = start() else { return };
    let (wrong, unsupported) = (code::INVALID_VALUE, code::NOT_SUPPORTED);
    for (properties, expected) in [
        (Properties { kind: 0, ..PLAIN }, wrong),
        (Properties { kind: 2, ..PLAIN }, unsupported),
        (Properties { handle_types: 8, ..PLAIN }, unsupported),
        (Properties { handle_types: 64, ..PLAIN }, wrong),
        (Properties { location: [0, 0], ..PLAIN }, wrong),
        (Properties { location: [1, 99], ..PLAIN }, code::INVALID_DEVICE),
        (Properties { location: [2, 0], ..PLAIN }, unsupported),
        (Properties { location: [4, 0], ..PLAIN }, wrong),
        (Properties { windows: 8, ..PLAIN }, wrong),
        (Properties { rdma: 1, ..PLAIN }, unsupported),
        (Properties { usage: 1, ..PLAIN }, unsupported),
    ] {
        assert_eq!(create_as(MIB2, properties).0, expected, "{properties:?}");
        let mut size = 0usize;
        let granularity = cu!(cuMemGetAllocationGranularity(
            &raw mut size => *mut usize, &raw const properties => *const Properties, 0 => u32
        ));
        assert_eq!(granularity, expected, "{properties:?}");
    }
    for size in [0, 1, 4096, MIB2 + 4096] {
        assert_eq!(create_as(size, PLAIN).0, wrong);
    }
    let (mut out, plain) = ([0usize; 4], PLAIN);
    for option in [0, 1] {
        ok!(cuMemGetAllocationGranularity(
            &raw mut out[0] => *mut usize, &raw const plain => *const Properties, option => u32
        ));
        assert_eq!(out[0], MIB2);
    }
    assert_eq!(attribute(110), 0, "GPUDirect RDMA is not supported");
    // Compression is a hint, and the actual state can be queried.
    let (code, handle) = create_as(MIB2, Properties { compression: 1, ..PLAIN });
    let mut properties = Properties { kind: 9, ..PLAIN };
    let get = |handle: usize, out: *mut Properties| cu!(cuMemGetAllocationPropertiesFromHandle(out => *mut Properties, handle => usize));
    assert_eq!((code, get(handle, &raw mut properties), properties), (0, 0, PLAIN));
    assert_eq!((release(handle), get(handle, &raw mut properties)), (0, wrong));
    let mut reserve = |size: usize, align: usize, hint: u64, flags: u64| {
        cu!(cuMemAddressReserve(out.as_mut_ptr(), size, align, hint, flags))
    };
    assert_eq!(reserve(0, 0, 0, 0), wrong);
    assert_eq!(reserve(100, 0, 0, 0), wrong);
    assert_eq!(reserve(MIB2, 3, 0, 0), wrong);
    assert_eq!(reserve(MIB2, 0, 12, 0), wrong);
    assert_eq!(reserve(MIB2, 0, 0, 1), wrong);
    assert_eq!(reserve(usize::MAX / MIB2 * MIB2, 0, 0, 0), code::OUT_OF_MEMORY);
    assert_eq!(reserve(1 << 60, 0, 0, 0), code::OUT_OF_MEMORY);
    // The alignment is respected; a hint that is in use gives another address; a freed address can be reserved again.
    assert_eq!(reserve(MIB2, 1 << 30, 0, 0), 0);
    let first = out[0] as u64;
    assert!(first.is_multiple_of(1 << 30));
    ok!(cuMemAddressFree(first, MIB2));
    let at = |hint: u64| output!(cuMemAddressReserve(-> u64, MIB2, 0usize, hint, 0u64));
    let (at_hint, other_address) = (at(first), at(first));
    assert_ne!(at_hint, other_address);
    for address in [at_hint, other_address] {
        ok!(cuMemAddressFree(address, MIB2));
    }
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn attributes_distinguish_reservations_from_mappings() {
    let Some(context) = start() else { return };
    let (address, handle) = (reserve(4 * MIB2), create(MIB2));
    let at = address + MIB2 as u64;
    let narrow = |which: i32, address: u64| {
        let mut value = 77u32;
        ok!(cuPointerGetAttribute(&raw mut value, which => i32, address));
        value
    };
    let wide = |which: i32, address: u64| {
        let mut value = 77u64;
        ok!(cuPointerGetAttribute(&raw mut value, which => i32, address));
        value
    };
    let whole = (address, 4 * MIB2 as u64);
    // After the reservation, it can be queried, but no memory is mapped.
    assert_eq!((wide(11, at + 5), wide(12, at + 5), narrow(13, at + 5)), (whole.0, whole.1, 0));
    let mut kind = 0u32;
    returns!(code::INVALID_VALUE, cuPointerGetAttribute(&raw mut kind, 2 => i32, at));
    assert_eq!(map(at, MIB2, handle), 0);
    let (mut flags, place) = (9u64, [1i32, 0]);
    for (set, expected) in [(0, 0), (1, 1), (3, 3)] {
        assert_eq!(set_access(at, MIB2, set), 0);
        ok!(cuMemGetAccess(&raw mut flags, place.as_ptr() => *const i32, at + 8));
        assert_eq!((flags, narrow(16, at)), (expected, expected as u32));
    }
    returns!(code::INVALID_VALUE, cuMemGetAccess(
        &raw mut flags => *mut u64, place.as_ptr() => *const i32, address => u64
    ));
    assert_eq!((wide(11, at + 5), wide(12, at + 5), narrow(13, at + 5)), (whole.0, whole.1, 1));
    assert_eq!((wide(19, at + 5), wide(18, at + 5)), (at, MIB2 as u64));
    // The attributes are those of device memory on the first device, which is in no context and no pool, not managed,
    // and not exportable.
    assert_eq!((narrow(2, at), narrow(9, at), narrow(8, at)), (2, 0, 0));
    assert_eq!((wide(1, at), wide(17, at), wide(14, at), wide(3, at)), (0, 0, 0, at));
    let (mut base, mut size) = (0u64, 0usize);
    ok!(cuMemGetAddressRange_v2(&raw mut base, &raw mut size, at + 100));
    assert_eq!((base, size), (at, MIB2));
    // Map the memory at a second address.
    let other = at + MIB2 as u64;
    assert_eq!(map(other, MIB2, handle), 0);
    assert_eq!(wide(20, at), wide(20, other));
    assert_ne!(wide(7, at), wide(7, other));
    assert_eq!((release(handle), unmap(at, 2 * MIB2)), (0, 0));
    ok!(cuMemAddressFree(address, 4 * MIB2 => usize));
    ok!(cuCtxDestroy_v2(context));
}

//! Memory: device, host and managed.

pub(crate) mod copy;
pub(crate) mod fill;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod virtual_memory;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, Location, Out, Pointer};
use crate::api::calling_thread;
use crate::api::context::synchronize_users;
use crate::api::driver::driver;
use crate::api::memory::pointer::device_of;
use crate::memory::allocations::AllocationKind;
use crate::memory::copy::check_device;
use crate::stream;
use crate::stream::capture;

/// The alignment of the pitch that `cuMemAllocPitch` returns, in bytes.
const PITCH_ALIGNMENT: usize = 512;
/// A mask of all valid flags of `cuMemHostAlloc` and `cuMemHostRegister`.
const HOST_FLAGS: u32 = 0x1f;
/// `CU_MEMHOSTREGISTER_READ_ONLY`
const READ_ONLY: u32 = 8;
/// `CU_MEMHOSTALLOC_DEVICEMAP`
const MAPPED: u32 = 2;

fn allocate(size: usize) -> Result<Pointer> {
    capture::forbid_unsafe_call(&driver()?.captures)?;
    let context = calling_thread::context()?;
    driver()?.hardware.allocations.device(size as u64, AllocationKind::Device, context.owner())
}

fn allocate_host(out: Out<usize>, size: usize, flags: u32) -> Result {
    out.required()?;
    fail_if!(flags & !HOST_FLAGS != 0, INVALID_VALUE, "unknown flags {flags:#x} of host memory");
    capture::forbid_unsafe_call(&driver()?.captures)?;
    let context = calling_thread::context()?;
    // All host memory is mapped into the device's address space, as with unified addressing.
    let address =
        driver()?.hardware.allocations.pinned(size as u64, flags | MAPPED, context.owner())?;
    out.set(address as usize)
}

/// Waits for pending work that may use the memory, then frees it. Work that another thread enqueues meanwhile, and that
/// uses the memory nevertheless, faults.
///
/// A thread without a current context may also free memory, because the address identifies the allocation.
fn free(address: Pointer, which: fn(&AllocationKind) -> bool, call: &str) -> Result {
    capture::forbid_unsafe_call(&driver()?.captures)?;
    let allocations = &driver()?.hardware.allocations;
    let owner = allocations.with_allocation(address, |allocation| allocation.context);
    let context = match calling_thread::handle() {
        0 => owner.and_then(|owner| driver().ok()?.contexts.get(owner)),
        _ => Some(calling_thread::context()?),
    };
    synchronize_users(owner)?;
    if let Some(context) = context {
        context.report_fault()?;
    }
    if allocations.free(address, which)? {
        return Ok(());
    }
    Err(Code::INVALID_VALUE.because(format!("{call}: no such allocation begins at {address:#x}")))
}

/// Closes another process's memory. The last close waits and frees as [`free`] does.
///
/// # Errors
/// `INVALID_VALUE` if no such memory begins there.
pub(crate) fn close(address: Pointer) -> Result {
    match driver()?.hardware.allocations.close(address) {
        Some(false) => Ok(()),
        _ => {
            free(address, |kind| matches!(kind, AllocationKind::Foreign(_)), "cuIpcCloseMemHandle")
        }
    }
}

fn check_managed(address: Pointer, size: usize) -> Result {
    check_device(driver()?.hardware.memory(), address, size as u64)?;
    let kind = driver()?
        .hardware
        .allocations
        .with_allocation(address, |allocation| matches!(allocation.kind, AllocationKind::Managed));
    if kind == Some(true) {
        return Ok(());
    }
    Err(Code::INVALID_VALUE
        .because(format!("{address:#x} is not managed memory (cuMemAllocManaged)")))
}

/// `CU_MEM_LOCATION_TYPE_DEVICE` to `…_HOST_NUMA_CURRENT`.
fn check_location(location: Location) -> Result {
    match (location.kind, location.id) {
        (1, device) => crate::api::device::check(device).map(|_| ()),
        (2..=4, _) => Ok(()),
        (kind, _) => Err(Code::INVALID_VALUE.because(format!("there is no location type {kind}"))),
    }
}

/// The location of a device as passed to `cuMemAdvise` and `cuMemPrefetchAsync`; -1 is the host.
fn location_of(device: i32) -> Result<Location> {
    if device == -1 {
        return Ok(Location { kind: 2, id: 0 });
    }
    crate::api::device::check(device)?;
    Ok(Location { kind: 1, id: device })
}

fn advise(address: Pointer, size: usize, advice: u32, location: Location) -> Result {
    calling_thread::context()?;
    if !(1..=6).contains(&advice) || size == 0 {
        return Err(Code::INVALID_VALUE.because(format!("invalid advice {advice} or size {size}")));
    }
    // Advice that concerns all devices (read mostly), or removes a preference, ignores the location.
    if matches!(advice, 3 | 5 | 6) {
        check_location(location)?;
    }
    check_managed(address, size)?;
    driver()?.hardware.allocations.with_allocation(address, |allocation| match advice {
        1 | 2 => allocation.advice.read_mostly = advice == 1,
        3 => allocation.advice.preferred = Some(location),
        4 => allocation.advice.preferred = None,
        _ => allocation.advice.set_accessed_by(device_of(Some(location)), advice == 5),
    });
    Ok(())
}

fn prefetch(address: Pointer, size: usize, location: Location, stream: Handle) -> Result {
    check_location(location)?;
    let stream = calling_thread::stream(stream)?;
    fail_if!(size == 0, INVALID_VALUE, "0 bytes can't be prefetched");
    check_managed(address, size)?;
    driver()?
        .hardware
        .allocations
        .with_allocation(address, |allocation| allocation.advice.prefetched = Some(location));
    // Host and device share the memory, so no data are moved; a no-op in the stream keeps its order.
    stream::enqueue(&stream, crate::graph::operation::Operation::NoOp)
}

export! {
    3020 fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let device = calling_thread::context()?.device;
        let allocations = &driver()?.hardware.allocations;
        free.set_if_wanted(allocations.free_bytes(device) as usize);
        total.set_if_wanted(allocations.total() as usize);
        Ok(())
    }

    3020 fn cuMemAlloc_v2(out as required: Out<Pointer>, size: usize) {
        out.set(allocate(size)?)
    }

    3020 fn cuMemAllocPitch_v2(
        out as required: Out<Pointer>, pitch as required: Out<usize>, width: usize, height: usize, element: u32,
    ) {
        if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(Code::INVALID_VALUE
                .because(format!("{height} rows of {width} bytes in elements of {element}: the size must not be 0, and elements have 4, 8 or 16 bytes")));
        }
        let row = width.checked_next_multiple_of(PITCH_ALIGNMENT).ok_or(Code::INVALID_VALUE)?;
        let size = row.checked_mul(height).ok_or(Code::OUT_OF_MEMORY)?;
        out.set(allocate(size)?)?;
        pitch.set(row)
    }

    3020 fn cuMemFree_v2(address: Pointer) {
        let which = |kind: &AllocationKind| matches!(kind, AllocationKind::Device | AllocationKind::Pooled(_) | AllocationKind::Managed);
        // Freeing null is a no-op, as in C.
        if address == 0 { Ok(()) } else { free(address, which, "cuMemFree") }
    }

    3020 fn cuMemAllocHost_v2(out: Out<usize>, size: usize) {
        allocate_host(out, size, 0)
    }

    2020 fn cuMemHostAlloc(out: Out<usize>, size: usize, flags: u32) {
        allocate_host(out, size, flags)
    }

    2000 fn cuMemFreeHost(address: In<u8>) {
        if address.is_null() {
            return Ok(());
        }
        free(address.address() as u64, |kind| matches!(kind, AllocationKind::Pinned), "cuMemFreeHost")
    }

    6050 fn cuMemHostRegister_v2(address: In<u8>, size: usize, flags: u32) {
        if address.is_null() || flags & !HOST_FLAGS != 0 {
            return Err(Code::INVALID_VALUE
                .because("the address is null, or the flags are unknown"));
        }
        capture::forbid_unsafe_call(&driver()?.captures)?;
        let context = calling_thread::context()?;
        let (allocations, writable) = (&driver()?.hardware.allocations, flags & READ_ONLY == 0);
        allocations.register(address.address(), size as u64, writable, flags | MAPPED, context.owner())
    }

    4000 fn cuMemHostUnregister(address: In<u8>) {
        fail_if!(address.is_null(), INVALID_VALUE, "null was never registered");
        let which = |kind: &AllocationKind| matches!(kind, AllocationKind::Registered);
        let at = address.address() as u64;
        // An address inside registered memory but not at its start gives INVALID_VALUE.
        let is_inside = driver()?.hardware.allocations.with_allocation(at, |allocation| which(&allocation.kind)) == Some(true);
        free(at, which, "cuMemHostUnregister").map_err(|error| {
            let missing = error.code == Code::INVALID_VALUE && !is_inside;
            if missing { Code::HOST_MEMORY_NOT_REGISTERED.into() } else { error }
        })
    }

    3020 fn cuMemHostGetDevicePointer_v2(out as required: Out<Pointer>, address: In<u8>, flags: u32) {
        calling_thread::context()?;
        let at = address.address() as u64;
        let host = driver()?.hardware.allocations.with_allocation(at, |allocation| allocation.is_shared());
        fail_if!(flags != 0 || host != Some(true), INVALID_VALUE, "{at:#x} is not pinned or registered memory");
        out.set(at)
    }

    2030 fn cuMemHostGetFlags(flags as required: Out<u32>, address: In<u8>) {
        let at = address.address() as u64;
        let host_flags = driver()?.hardware.allocations.with_allocation(at, |allocation| allocation.is_host().then_some(allocation.flags)).flatten();
        flags.set(host_flags.ok_or_else(|| Code::INVALID_VALUE.because(format!("{at:#x} is not pinned memory")))?)
    }

    6000 fn cuMemAllocManaged(out as required: Out<Pointer>, size: usize, flags: u32) {
        // CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST
        fail_if!(!matches!(flags, 1 | 2), INVALID_VALUE, "flags {flags:#x} are neither CU_MEM_ATTACH_GLOBAL nor CU_MEM_ATTACH_HOST");
        capture::forbid_unsafe_call(&driver()?.captures)?;
        let context = calling_thread::context()?;
        out.set(driver()?.hardware.allocations.managed(size as u64, flags, context.owner())?)
    }

    6000 fn cuStreamAttachMemAsync(stream: Handle, address: Pointer, size: usize, flags: u32)
    also cuStreamAttachMemAsync_ptsz {
        let stream = calling_thread::stream(stream)?;
        // CU_MEM_ATTACH_GLOBAL, …_HOST, …_SINGLE
        fail_if!(!matches!(flags, 1 | 2 | 4), INVALID_VALUE, "unknown flags {flags:#x}");
        if flags == 4 && stream.kind == crate::stream::StreamKind::Null {
            return Err(Code::INVALID_VALUE
                .because("memory can't be attached to the default stream with CU_MEM_ATTACH_SINGLE"));
        }
        check_managed(address, size.max(1))?;
        stream::enqueue(&stream, crate::graph::operation::Operation::NoOp)
    }

    3020 fn cuMemGetAddressRange_v2(base: Out<Pointer>, size: Out<usize>, address: Pointer) {
        calling_thread::context()?;
        let range = driver()?.hardware.memory().range_of(address);
        let (at, len) = range.filter(|(at, len)| address < at + len).ok_or_else(|| {
            Code::NOT_FOUND.because(format!("{address:#x} is inside no allocation"))
        })?;
        base.set_if_wanted(at);
        size.set_if_wanted(len as usize);
        Ok(())
    }

    8000 fn cuMemAdvise(address: Pointer, size: usize, advice: u32, device: i32) {
        let location = if matches!(advice, 3 | 5 | 6) { location_of(device)? } else { Location::default() };
        advise(address, size, advice, location)
    }

    12020 fn cuMemAdvise_v2(address: Pointer, size: usize, advice: u32, location: Location) {
        advise(address, size, advice, location)
    }

    8000 fn cuMemPrefetchAsync(address: Pointer, size: usize, device: i32, stream: Handle)
    also cuMemPrefetchAsync_ptsz {
        prefetch(address, size, location_of(device)?, stream)
    }

    12020 fn cuMemPrefetchAsync_v2(
        address: Pointer, size: usize, location: Location, flags: u32, stream: Handle,
    ) also cuMemPrefetchAsync_v2_ptsz {
        fail_if!(flags != 0, INVALID_VALUE, "flags must be 0");
        prefetch(address, size, location, stream)
    }
}

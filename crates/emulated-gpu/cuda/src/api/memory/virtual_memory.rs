//! Virtual memory management: reserving addresses, creating physical memory, and mapping it.

use std::os::fd::{IntoRawFd, OwnedFd};

use ptx_emulator::memory::GRANULARITY;

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{
    AccessDescription, AllocationProperties, Handle, In, List, Location, Out, Pointer,
};
use crate::api::calling_thread;
use crate::api::device;
use crate::api::driver::driver;
use crate::context::hardware::Hardware;
use crate::memory::virtual_memory::{DESCRIPTOR, check_supported, map_error};

/// The maximum alignment of reserved addresses that a program may request.
const MAX_ALIGNMENT: usize = 1 << 40;
/// The host's page size in bytes.
const PAGE: usize = 4096;

/// The hardware; an error if it doesn't support virtual memory management.
fn hardware() -> Result<&'static Hardware> {
    let hardware = &driver()?.hardware;
    check_supported(hardware.memory())?;
    Ok(hardware)
}

/// Checks the properties, and returns the device on which the memory is to be created.
fn check_properties(properties: &AllocationProperties) -> Result<u32> {
    let &AllocationProperties { allocation_type, handle_types, location, .. } = properties;
    match allocation_type {
        // CU_MEM_ALLOCATION_TYPE_PINNED, …_MANAGED
        1 => {}
        2 => {
            return Err(Code::NOT_SUPPORTED
                .because("managed memory can't be mapped; use pinned memory (1)"));
        }
        other => {
            return Err(Code::INVALID_VALUE
                .because(format!("there is no allocation type {other}; use pinned memory (1)")));
        }
    }
    let device = match location.kind {
        1 => device::check(location.id)?,
        2 | 3 => {
            return Err(Code::NOT_SUPPORTED
                .because("host memory can't be created here; use a device as location"));
        }
        other => {
            return Err(Code::INVALID_VALUE.because(format!(
                "memory can't be created at location type {other}; use a device (1)"
            )));
        }
    };
    match handle_types {
        0 | DESCRIPTOR => {}
        // Windows handles and fabric handles.
        2..=15 => {
            return Err(Code::NOT_SUPPORTED.because(format!(
                "memory can't be exported as handles of types {handle_types:#x}; use POSIX file descriptors (1)"
            )));
        }
        other => {
            return Err(Code::INVALID_VALUE.because(format!("unknown handle types {other:#x}")));
        }
    }
    fail_if!(properties.security != 0, INVALID_VALUE, "Windows' security attributes must be null");
    if properties.rdma != 0 || properties.usage != 0 {
        return Err(Code::NOT_SUPPORTED.because(
            "memory for RDMA, for sparse arrays or for hardware decompression is not emulated",
        ));
    }
    Ok(device)
}

fn check_no_flags(flags: u64) -> Result {
    if flags == 0 { Ok(()) } else { Err(Code::INVALID_VALUE.because("flags must be 0")) }
}

/// Checks an access description. Returns the device, whether that device may read the memory, and whether it may write
/// it.
fn access(description: AccessDescription) -> Result<(u32, bool, bool)> {
    let AccessDescription { location, flags } = description;
    let device = match location.kind {
        1 => device::check(location.id)?,
        2..=4 => {
            return Err(Code::NOT_SUPPORTED.because(
                "the host's access to device memory can't be set; pass a device as location",
            ));
        }
        other => {
            return Err(Code::INVALID_VALUE.because(format!("there is no location type {other}")));
        }
    };
    // CU_MEM_ACCESS_FLAGS_PROT_NONE, …_READ, …_READWRITE
    match flags {
        0 => Ok((device, false, false)),
        1 => Ok((device, true, false)),
        3 => Ok((device, true, true)),
        other => Err(Code::INVALID_VALUE.because(format!("unknown access flags {other:#x}"))),
    }
}

fn check_handle_type(kind: i32) -> Result {
    match kind {
        DESCRIPTOR => Ok(()),
        2 | 4 | 8 => Err(Code::NOT_SUPPORTED.because(format!(
            "handles of type {kind} are not emulated; use POSIX file descriptors (1)"
        ))),
        _ => Err(Code::INVALID_VALUE.because(format!("there is no handle type {kind}"))),
    }
}

export! {
    10020 fn cuMemGetAllocationGranularity(
        granularity as required: Out<usize>, properties: In<AllocationProperties>, option: u32,
    ) {
        hardware()?;
        check_properties(&properties.get()?)?;
        // CU_MEM_ALLOC_GRANULARITY_MINIMUM, …_RECOMMENDED
        fail_if!(option > 1, INVALID_VALUE, "there is no granularity {option}");
        granularity.set(GRANULARITY as usize)
    }

    10020 fn cuMemAddressReserve(
        out as required: Out<Pointer>, size: usize, alignment: usize, hint: Pointer, flags: u64,
    ) {
        let memory = hardware()?.memory();
        check_no_flags(flags)?;
        if size == 0 || !size.is_multiple_of(PAGE) || !hint.is_multiple_of(PAGE as u64) {
            return Err(Code::INVALID_VALUE.because(format!(
                "can't reserve {size} bytes at {hint:#x}: both must be multiples of the host's page size, \
                 {PAGE} bytes"
            )));
        }
        if alignment != 0 && !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
            return Err(Code::INVALID_VALUE
                .because(format!("the alignment {alignment} is neither 0 nor a power of two up to {MAX_ALIGNMENT}")));
        }
        let reserved = memory.reserve_addresses(size as u64, alignment as u64, hint);
        out.set(reserved.map_err(map_error)?)
    }

    10020 fn cuMemAddressFree(address: Pointer, size: usize) {
        hardware()?.memory().release_addresses(address, size as u64).map_err(map_error)
    }

    10020 fn cuMemCreate(
        out as required: Out<Handle>, size: usize, properties: In<AllocationProperties>, flags: u64,
    ) {
        let hardware = hardware()?;
        check_no_flags(flags)?;
        let properties = properties.get()?;
        let device = check_properties(&properties)?;
        let size = size as u64;
        if size == 0 || !size.is_multiple_of(GRANULARITY) {
            return Err(Code::INVALID_VALUE
                .because(format!("the size {size} must be a positive multiple of {GRANULARITY} (cuMemGetAllocationGranularity)")));
        }
        let exported = properties.handle_types != 0;
        let memory = hardware.allocations.physical(size, device, exported)?;
        out.set(hardware.handles.insert(memory, properties.handle_types))
    }

    10020 fn cuMemRelease(handle: Handle) {
        hardware()?.handles.release(handle)
    }

    11000 fn cuMemRetainAllocationHandle(out as required: Out<Handle>, address: In<u8>) {
        let (hardware, at) = (hardware()?, address.address() as u64);
        let mapping = hardware.memory().mapping(at);
        let physical = mapping.and_then(|mapping| hardware.handles.find(&mapping.physical));
        let physical = physical.ok_or_else(|| {
            Code::INVALID_VALUE.because(format!("no memory is mapped at {at:#x} (cuMemMap)"))
        })?;
        hardware.handles.retain(&physical);
        out.set(physical.handle)
    }

    10020 fn cuMemMap(address: Pointer, size: usize, offset: usize, handle: Handle, flags: u64) {
        let hardware = hardware()?;
        check_no_flags(flags)?;
        fail_if!(offset != 0, INVALID_VALUE, "memory can only be mapped from its beginning; the offset must be 0");
        let physical = hardware.handles.get(handle)?;
        hardware.allocations.map(address, size as u64, &physical)
    }

    10020 fn cuMemUnmap(address: Pointer, size: usize) {
        hardware()?.allocations.unmap(address, size as u64)
    }

    10020 fn cuMemSetAccess(
        address: Pointer, size: usize, descriptions: In<AccessDescription>, count: usize,
    ) {
        let memory = hardware()?.memory();
        let list = descriptions.list(count)?.into_iter().map(access).collect::<Result<Vec<_>>>()?;
        fail_if!(list.is_empty(), INVALID_VALUE, "there must be at least one access description");
        for (device, read, write) in list {
            memory.set_access((address, size as u64), device, read, write).map_err(map_error)?;
        }
        Ok(())
    }

    10020 fn cuMemGetAccess(flags as required: Out<u64>, location: In<Location>, address: Pointer) {
        let memory = hardware()?.memory();
        let location = location.get()?;
        let (device, ..) = access(AccessDescription { location, flags: 0 })?;
        let mapping = memory.mapping(address).ok_or_else(|| {
            Code::INVALID_VALUE.because(format!("no memory is mapped at {address:#x} (cuMemMap)"))
        })?;
        flags.set(u64::from(access_of(&mapping, device)))
    }

    10020 fn cuMemGetAllocationPropertiesFromHandle(
        out as required: Out<AllocationProperties>, handle: Handle,
    ) {
        let physical = hardware()?.handles.get(handle)?;
        out.set(AllocationProperties::pinned_on(physical.memory.device(), physical.types))
    }

    10020 fn cuMemExportToShareableHandle(out as required: Out<i32>, handle: Handle, kind: i32, flags: u64) {
        let hardware = hardware()?;
        check_no_flags(flags)?;
        check_handle_type(kind)?;
        let physical = hardware.handles.get(handle)?;
        if physical.types & kind == 0 {
            return Err(Code::INVALID_VALUE
                .because("this memory can't be exported as this type of handle; request the type in cuMemCreate"));
        }
        let file = physical.memory.export().ok_or_else(|| {
            Code::OPERATING_SYSTEM.because("this process has too many open files")
        })?;
        out.set(OwnedFd::from(file).into_raw_fd())
    }

    10020 fn cuMemImportFromShareableHandle(out as required: Out<Handle>, descriptor: usize, kind: i32) {
        let hardware = hardware()?;
        check_handle_type(kind)?;
        let wrong =
            |why: &str| Code::INVALID_VALUE.because(format!("the file descriptor {descriptor}: {why}"));
        let number = i32::try_from(descriptor).map_err(|_| wrong("it is out of range"))?;
        let memory = hardware.memory().import_physical(number);
        let memory = memory.ok_or_else(|| {
            wrong("it is not open, or it is not memory that an emulated driver exported")
        })?;
        device::check(memory.device() as i32)?;
        let handle = match hardware.handles.same_as(&memory) {
            Some(physical) => {
                hardware.handles.retain(&physical);
                physical.handle
            }
            None => hardware.handles.insert(memory, DESCRIPTOR),
        };
        out.set(handle)
    }
}

/// The access (`CUmemAccess_flags`) of a device to a mapping.
pub(crate) fn access_of(mapping: &ptx_emulator::memory::Mapping, device: u32) -> u32 {
    match (mapping.readable.contains(device), mapping.writable.contains(device)) {
        (_, true) => 3,
        (true, false) => 1,
        (false, false) => 0,
    }
}

/// The access of the current context's device to a mapping; without a current context, of the memory's device.
pub(crate) fn access_of_current_device(mapping: &ptx_emulator::memory::Mapping) -> u32 {
    let device =
        calling_thread::context().map_or(mapping.physical.device(), |context| context.device);
    access_of(mapping, device)
}

//! Attributes of pointers and of ranges of managed memory.

use crate::abi::enumeration::enumeration;
use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, List, Location, Out, Pointer};
use crate::api::driver::driver;
use crate::api::memory::virtual_memory::access_of_current_device;
use crate::memory::allocations::{Advice, AllocationKind};
use crate::memory::copy::check_device;

/// Properties of the memory at an address, from which the attributes are computed.
#[derive(Clone, Copy, Debug, Default)]
struct PointerInfo {
    base: Pointer,
    size: u64,
    context: Handle,
    device: u32,
    id: u64,
    pool: Handle,
    managed: bool,
    host: bool,
    sync: bool,
    /// Whether `cuIpcGetMemHandle` accepts the memory.
    interprocess: bool,
    /// The mapping at the address, if the memory was mapped with `cuMemMap`.
    mapped: Option<Mapped>,
}

/// A mapping of physical memory: the reserved addresses around it, the handle types, the device's access, and the
/// memory's handle.
#[derive(Clone, Copy, Debug)]
struct Mapped {
    range: (Pointer, u64),
    types: u32,
    access: u32,
    memory: Handle,
}

/// The mapping at an address.
fn mapped(address: Pointer) -> Option<Mapped> {
    let driver = driver().ok()?;
    let memory = driver.hardware.memory();
    let mapping = memory.mapping(address)?;
    let physical = driver.hardware.handles.find(&mapping.physical)?;
    Some(Mapped {
        range: memory.reservation(address)?,
        types: physical.types as u32,
        access: access_of_current_device(&mapping),
        memory: physical.handle,
    })
}

/// The memory at an address: an allocation of the program, or else a variable of a module.
fn pointer_info(address: Pointer) -> Result<Option<PointerInfo>> {
    let driver = driver()?;
    let info = driver.hardware.allocations.with_allocation(address, |allocation| PointerInfo {
        base: allocation.address,
        size: allocation.size,
        context: allocation.context,
        device: allocation.device,
        id: allocation.id,
        pool: if let AllocationKind::Pooled(pool) = allocation.kind { pool } else { 0 },
        managed: matches!(allocation.kind, AllocationKind::Managed),
        host: allocation.is_host(),
        sync: allocation.sync_operations,
        interprocess: matches!(allocation.kind, AllocationKind::Device)
            && driver.hardware.memory().can_map(),
        mapped: None,
    });
    let info = info.map(|info| PointerInfo { mapped: mapped(address), ..info });
    let variable = || {
        let (base, size) = driver.hardware.memory().range_of(address)?;
        let inside = address < base.saturating_add(size);
        let context = crate::api::calling_thread::handle();
        let device = driver.hardware.memory().home(address)?.device;
        inside.then_some(PointerInfo {
            base,
            size,
            context,
            device,
            id: base,
            ..PointerInfo::default()
        })
    };
    Ok(info.or_else(variable))
}

enumeration! {
    /// `CUpointer_attribute`
    Attribute, "pointers have no attribute {}" {
        Context = 1, MemoryType = 2, DevicePointer = 3, HostPointer = 4, P2pTokens = 5, SyncMemops = 6,
        BufferId = 7, IsManaged = 8, DeviceOrdinal = 9, IsLegacyCudaIpcCapable = 10, RangeStartAddr = 11,
        RangeSize = 12, Mapped = 13, AllowedHandleTypes = 14, IsGpuDirectRdmaCapable = 15, AccessFlags = 16,
        MempoolHandle = 17, MappingSize = 18, MappingBaseAddr = 19, MemoryBlockId = 20,
        IsHwDecompressCapable = 21, LocalityDomainOrdinal = 22,
    }
}

/// `CU_MEMORYTYPE_HOST`, `CU_MEMORYTYPE_DEVICE`
const MEMORYTYPE_HOST: u32 = 1;
const MEMORYTYPE_DEVICE: u32 = 2;
/// `CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE`
const READWRITE: u32 = 3;
/// `CU_DEVICE_CPU`, `CU_DEVICE_INVALID`
const DEVICE_CPU: i32 = -1;
const DEVICE_INVALID: i32 = -2;

/// The value of an attribute, with its width.
enum Value {
    Narrow(u32),
    Wide(u64),
}

impl Value {
    unsafe fn write(self, data: Out<u8>) -> Result {
        match self {
            Self::Narrow(value) => data.cast::<u32>().set(value),
            Self::Wide(value) => data.cast::<u64>().set(value),
        }
    }
}

/// The value of an attribute of an address that is in an allocation or a variable.
fn value(attribute: Attribute, address: Pointer, info: &PointerInfo) -> Result<Value> {
    use Value::{Narrow, Wide};
    let mapped = info.mapped;
    Ok(match attribute {
        Attribute::Context => Wide(info.context as u64),
        Attribute::MemoryType => {
            Narrow(if info.host { MEMORYTYPE_HOST } else { MEMORYTYPE_DEVICE })
        }
        Attribute::DevicePointer => Wide(address),
        Attribute::HostPointer if info.host || info.managed => Wide(address),
        Attribute::HostPointer => {
            return Err(Code::INVALID_VALUE.because("device memory has no host address"));
        }
        Attribute::P2pTokens => {
            return Err(Code::NOT_SUPPORTED.because("peer-to-peer tokens are not emulated"));
        }
        Attribute::SyncMemops => Narrow(info.sync.into()),
        Attribute::BufferId => Wide(info.id),
        Attribute::IsManaged => Narrow(info.managed.into()),
        Attribute::DeviceOrdinal => Narrow(info.device),
        Attribute::IsLegacyCudaIpcCapable => Narrow(info.interprocess.into()),
        Attribute::RangeStartAddr => Wide(mapped.map_or(info.base, |mapped| mapped.range.0)),
        Attribute::RangeSize => Wide(mapped.map_or(info.size, |mapped| mapped.range.1)),
        Attribute::Mapped => Narrow(1),
        Attribute::AllowedHandleTypes => Wide(mapped.map_or(0, |mapped| mapped.types.into())),
        Attribute::AccessFlags => Narrow(mapped.map_or(READWRITE, |mapped| mapped.access)),
        Attribute::MempoolHandle => Wide(info.pool as u64),
        Attribute::MappingSize => Wide(info.size),
        Attribute::MappingBaseAddr => Wide(info.base),
        Attribute::MemoryBlockId => Wide(mapped.map_or(info.id, |mapped| mapped.memory as u64)),
        Attribute::IsGpuDirectRdmaCapable | Attribute::IsHwDecompressCapable => Narrow(0),
        // Locality domains are not emulated.
        Attribute::LocalityDomainOrdinal => Narrow(u32::MAX),
    })
}

/// The reservation (`cuMemAddressReserve`) that contains an address: its first address and its size.
fn reservation(address: Pointer) -> Result<Option<(Pointer, u64)>> {
    Ok(driver()?.hardware.memory().reservation(address))
}

/// Whether the attribute is defined for addresses that are only reserved.
fn is_of_reservation(attribute: Attribute) -> bool {
    matches!(attribute, Attribute::RangeStartAddr | Attribute::RangeSize | Attribute::Mapped)
}

/// The value of an attribute for an address in no allocation. As on hardware, the host pointer is the address itself,
/// because that may be host memory, and most other attributes are 0.
fn unknown_value(attribute: Attribute, address: Pointer) -> Result<Value> {
    use Value::{Narrow, Wide};
    Ok(match (attribute, reservation(address)?) {
        (Attribute::RangeStartAddr, Some((start, _))) => Wide(start),
        (Attribute::RangeSize, Some((_, size))) => Wide(size),
        (Attribute::HostPointer, _) => Wide(address),
        (Attribute::DeviceOrdinal, _) => Narrow(DEVICE_INVALID.cast_unsigned()),
        (Attribute::LocalityDomainOrdinal, _) => Narrow(u32::MAX),
        (
            Attribute::MemoryType
            | Attribute::SyncMemops
            | Attribute::IsManaged
            | Attribute::IsLegacyCudaIpcCapable
            | Attribute::Mapped
            | Attribute::IsGpuDirectRdmaCapable
            | Attribute::AccessFlags
            | Attribute::IsHwDecompressCapable,
            _,
        ) => Narrow(0),
        _ => Wide(0),
    })
}

/// The ordinal of a device, or `CU_DEVICE_CPU` or `CU_DEVICE_INVALID`.
pub(crate) fn device_of(location: Option<Location>) -> i32 {
    match location {
        Some(Location { kind: 1, id }) => id,
        Some(_) => DEVICE_CPU,
        None => DEVICE_INVALID,
    }
}

enumeration! {
    /// `CUmem_range_attribute`
    RangeAttribute, "ranges have no attribute {}" {
        ReadMostly = 1, PreferredLocation = 2, AccessedBy = 3, LastPrefetchLocation = 4,
        PreferredLocationType = 5, PreferredLocationId = 6, LastPrefetchLocationType = 7,
        LastPrefetchLocationId = 8,
    }
}

unsafe fn range_attribute(data: Out<u8>, size: usize, attribute: u32, advice: &Advice) -> Result {
    let narrow = |value: i32| {
        if size < 4 || !size.is_multiple_of(4) {
            return Err(Code::INVALID_VALUE.because("the size of the data must be a multiple of 4"));
        }
        data.cast::<i32>().set(value)
    };
    let kind = |location: Option<Location>| location.map_or(0, |location| location.kind);
    let id = |location: Option<Location>| location.map_or(0, |location| location.id);
    match RangeAttribute::from_number(attribute)? {
        RangeAttribute::ReadMostly => narrow(i32::from(advice.read_mostly)),
        RangeAttribute::PreferredLocation => narrow(device_of(advice.preferred)),
        RangeAttribute::AccessedBy => {
            narrow(DEVICE_INVALID)?;
            let all = advice.accessed_by.iter().copied().chain(std::iter::repeat(DEVICE_INVALID));
            data.cast::<i32>().set_all(all.take(size / 4));
            Ok(())
        }
        RangeAttribute::LastPrefetchLocation => narrow(device_of(advice.prefetched)),
        RangeAttribute::PreferredLocationType => narrow(kind(advice.preferred)),
        RangeAttribute::PreferredLocationId => narrow(id(advice.preferred)),
        RangeAttribute::LastPrefetchLocationType => narrow(kind(advice.prefetched)),
        RangeAttribute::LastPrefetchLocationId => narrow(id(advice.prefetched)),
    }
}

fn advice_of(address: Pointer, size: usize) -> Result<Advice> {
    check_device(driver()?.hardware.memory(), address, size as u64)?;
    let managed = driver()?.hardware.allocations.with_allocation(address, |allocation| {
        matches!(allocation.kind, AllocationKind::Managed).then(|| allocation.advice.clone())
    });
    managed.flatten().ok_or_else(|| {
        Code::INVALID_VALUE.because("the range is not managed memory (cuMemAllocManaged)")
    })
}

export! {
    4000 fn cuPointerGetAttribute(data as required: Out<u8>, attribute: u32, address: Pointer) {
        let attribute = Attribute::from_number(attribute)?;
        match pointer_info(address)? {
            Some(info) => value(attribute, address, &info)?.write(data),
            None if is_of_reservation(attribute) && reservation(address)?.is_some() => {
                unknown_value(attribute, address)?.write(data)
            }
            None => Err(Code::INVALID_VALUE
                .because(format!("{address:#x} is inside no allocation"))),
        }
    }

    7000 fn cuPointerGetAttributes(
        count: u32, attributes: In<u32>, data: In<Out<u8>>, address: Pointer,
    ) {
        let info = pointer_info(address)?;
        let (attributes, data) = (attributes.list(count as usize)?, data.list(count as usize)?);
        for (attribute, data) in attributes.into_iter().zip(data) {
            let attribute = Attribute::from_number(attribute)?;
            let value = match &info {
                // Attributes that don't apply are 0.
                Some(info) => {
                    value(attribute, address, info).or_else(|_| unknown_value(attribute, 0))
                }
                None => unknown_value(attribute, address),
            };
            value?.write(data)?;
        }
        Ok(())
    }

    6000 fn cuPointerSetAttribute(value: In<u32>, attribute: u32, address: Pointer) {
        fail_if!(attribute != Attribute::SyncMemops as u32, INVALID_VALUE, "attribute {attribute} can't be set");
        let on = value.get()? != 0;
        let set = driver()?.hardware.allocations.with_allocation(address, |allocation| allocation.sync_operations = on);
        set.ok_or_else(|| Code::INVALID_VALUE.because(format!("{address:#x} is inside no allocation")))
    }

    8000 fn cuMemRangeGetAttribute(
        data as required: Out<u8>, size: usize, attribute: u32, address: Pointer, count: usize,
    ) {
        range_attribute(data, size, attribute, &advice_of(address, count)?)
    }

    8000 fn cuMemRangeGetAttributes(
        data: In<Out<u8>>, sizes: In<usize>, attributes: In<u32>, number: usize, address: Pointer,
        count: usize,
    ) {
        let advice = advice_of(address, count)?;
        let sizes = sizes.list(number)?;
        let places = data.list(number)?.into_iter().zip(sizes);
        for (attribute, (data, size)) in attributes.list(number)?.into_iter().zip(places) {
            range_attribute(data, size, attribute, &advice)?;
        }
        Ok(())
    }
}

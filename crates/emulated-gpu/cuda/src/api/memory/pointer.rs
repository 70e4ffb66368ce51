//! What an address is.

use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, Location, Out, Pointer};
use crate::api::driver::driver;
use crate::api::memory::virtual_memory::own_access_of;
use crate::memory::allocations::{Advice, AllocationKind};
use crate::memory::copy::check_device;

/// What the attributes of a pointer are made of.
#[derive(Clone, Copy, Debug)]
struct Known {
    base: Pointer,
    size: u64,
    context: Handle,
    device: u32,
    id: u64,
    pool: Handle,
    managed: bool,
    host: bool,
    sync: bool,
    /// Whether `cuIpcGetMemHandle` takes it.
    interprocess: bool,
    /// What is mapped there: the addresses that were reserved, the handle's types, what the device may do, and
    /// the memory itself, by its handle.
    mapped: Option<Mapped>,
}

#[derive(Clone, Copy, Debug)]
struct Mapped {
    range: (Pointer, u64),
    types: u32,
    access: u32,
    memory: Handle,
}

/// What is known of memory that is mapped at an address.
fn mapped(address: Pointer) -> Option<Mapped> {
    let driver = driver().ok()?;
    let memory = driver.hardware.memory();
    let mapping = memory.mapping(address)?;
    let known = driver.hardware.handles.of(&mapping.physical)?;
    Some(Mapped {
        range: memory.reservation(address)?,
        types: known.types as u32,
        access: own_access_of(&mapping),
        memory: known.handle,
    })
}

/// What is known of an address. Variables of modules are no allocations of the program's.
fn known(address: Pointer) -> Result<Option<Known>> {
    let driver = driver()?;
    let found = driver.hardware.allocations.with(address, |one| Known {
        base: one.address,
        size: one.size,
        context: one.context,
        device: one.device,
        id: one.id,
        pool: if let AllocationKind::Pooled(pool) = one.kind { pool } else { 0 },
        managed: matches!(one.kind, AllocationKind::Managed),
        host: one.is_host(),
        sync: one.sync_operations,
        interprocess: matches!(one.kind, AllocationKind::Device)
            && driver.hardware.memory().can_map(),
        mapped: None,
    });
    let found = found.map(|found| Known { mapped: mapped(address), ..found });
    let variable = || {
        let (base, size) = driver.hardware.memory().range_of(address)?;
        let inside = address < base.saturating_add(size);
        let (context, id, pool) = (crate::api::calling_thread::handle(), base, 0);
        let device = driver.hardware.memory().home(address)?.device;
        inside.then_some(Known {
            base,
            size,
            context,
            device,
            id,
            pool,
            managed: false,
            host: false,
            sync: false,
            interprocess: false,
            mapped: None,
        })
    };
    Ok(found.or_else(variable))
}

/// Writes an attribute in the width that it has.
///
/// # Safety
/// The pointers are what the program passed for this, as the documentation of its call has it.
unsafe fn write(attribute: u32, address: Pointer, known: &Known, data: Out<u8>) -> Result {
    let (narrow, wide) = (data.cast::<u32>(), data.cast::<u64>());
    match attribute {
        1 => wide.set(known.context as u64),
        // CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE
        2 => narrow.set(if known.host { 1 } else { 2 }),
        3 => wide.set(address),
        4 if known.host || known.managed => wide.set(address),
        4 => Err(Code::INVALID_VALUE.because("device memory has no address of the host's")),
        6 => narrow.set(u32::from(known.sync)),
        20 if let Some(mapped) = known.mapped => wide.set(mapped.memory as u64),
        7 | 20 => wide.set(known.id),
        8 => narrow.set(u32::from(known.managed)),
        9 => narrow.set(known.device),
        10 => narrow.set(u32::from(known.interprocess)),
        15 | 21 => narrow.set(0),
        // No memory belongs to a part of a card.
        22 => narrow.set(u32::MAX),
        // Of the reserved addresses, and of what is mapped there.
        11 => wide.set(known.mapped.map_or(known.base, |mapped| mapped.range.0)),
        12 => wide.set(known.mapped.map_or(known.size, |mapped| mapped.range.1)),
        19 => wide.set(known.base),
        18 => wide.set(known.size),
        13 => narrow.set(1),
        14 => wide.set(known.mapped.map_or(0, |mapped| mapped.types.into())),
        // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        16 => narrow.set(known.mapped.map_or(3, |mapped| mapped.access)),
        17 => wide.set(known.pool as u64),
        5 => Err(Code::NOT_SUPPORTED.because("tokens for other devices are not emulated")),
        _ => Err(Code::INVALID_VALUE.because(format!("pointers have no attribute {attribute}"))),
    }
}

/// An attribute of an address that is reserved and where nothing is mapped: where the addresses begin, how
/// many there are, and that nothing is there.
fn of_reservation(attribute: u32, address: Pointer) -> Result<Option<u64>> {
    let Some((start, size)) = driver()?.hardware.memory().reservation(address) else {
        return Ok(None);
    };
    Ok(match attribute {
        11 => Some(start),
        12 => Some(size),
        13 => Some(0),
        _ => None,
    })
}

/// What is written for an address that nothing is known of: as hardware does it, the address itself
/// for the host's, since it may be some, and 0 for the others.
///
/// # Safety
/// The pointers are what the program passed for this, as the documentation of its call has it.
unsafe fn write_unknown(attribute: u32, address: Pointer, data: Out<u8>) -> Result {
    if let Some(value) = of_reservation(attribute, address)? {
        return if attribute == 13 {
            data.cast::<u32>().set(0)
        } else {
            data.cast::<u64>().set(value)
        };
    }
    match attribute {
        4 => data.cast::<u64>().set(address),
        // CU_DEVICE_INVALID
        9 => data.cast::<i32>().set(-2),
        2 | 6 | 8 | 10 | 13 | 15 | 16 | 21 => data.cast::<u32>().set(0),
        22 => data.cast::<i32>().set(-1),
        1..=21 => data.cast::<u64>().set(0),
        _ => Err(Code::INVALID_VALUE.because(format!("pointers have no attribute {attribute}"))),
    }
}

/// `CU_DEVICE_CPU`, `CU_DEVICE_INVALID`
pub(crate) fn device_of(location: Option<Location>) -> i32 {
    match location {
        Some(Location { kind: 1, id }) => id,
        Some(_) => -1,
        None => -2,
    }
}

/// # Safety
/// The pointers are what the program passed for this, as the documentation of its call has it.
unsafe fn range_attribute(data: Out<u8>, size: usize, attribute: u32, advice: &Advice) -> Result {
    let narrow = |value: i32| {
        if size < 4 || !size.is_multiple_of(4) {
            return Err(Code::INVALID_VALUE.because("the data has 4 bytes for each number"));
        }
        data.cast::<i32>().set(value)
    };
    let kind = |location: Option<Location>| location.map_or(0, |location| location.kind);
    let id = |location: Option<Location>| location.map_or(0, |location| location.id);
    match attribute {
        1 => narrow(i32::from(advice.read_mostly)),
        2 => narrow(device_of(advice.preferred)),
        3 => {
            narrow(-2)?;
            let all = advice.accessed_by.iter().copied().chain(std::iter::repeat(-2));
            data.cast::<i32>().set_all(all.take(size / 4));
            Ok(())
        }
        4 => narrow(device_of(advice.prefetched)),
        5 => narrow(kind(advice.preferred)),
        6 => narrow(id(advice.preferred)),
        7 => narrow(kind(advice.prefetched)),
        8 => narrow(id(advice.prefetched)),
        _ => Err(Code::INVALID_VALUE.because(format!("ranges have no attribute {attribute}"))),
    }
}

fn advice_of(address: Pointer, size: usize) -> Result<Advice> {
    check_device(driver()?.hardware.memory(), address, size as u64)?;
    let managed = driver()?.hardware.allocations.with(address, |one| {
        matches!(one.kind, AllocationKind::Managed).then(|| one.advice.clone())
    });
    managed.flatten().ok_or_else(|| Code::INVALID_VALUE.because("this is not managed memory"))
}

export! {
    4000 fn cuPointerGetAttribute(data: Out<u8>, attribute: u32, address: Pointer) {
        data.required()?;
        match known(address)? {
            Some(known) => write(attribute, address, &known, data),
            None if of_reservation(attribute, address)?.is_some() => {
                write_unknown(attribute, address, data)
            }
            None => Err(Code::INVALID_VALUE
                .because(format!("{address:#x} is inside no allocation"))),
        }
    }

    7000 fn cuPointerGetAttributes(
        count: u32, attributes: In<u32>, data: In<Out<u8>>, address: Pointer,
    ) {
        let known = known(address)?;
        let (attributes, data) = (attributes.list(count as usize)?, data.list(count as usize)?);
        for (attribute, data) in attributes.into_iter().zip(data) {
            let Some(known) = &known else {
                write_unknown(attribute, address, data)?;
                continue;
            };
            // What does not apply is 0; what does not exist is an error.
            if write(attribute, address, known, data).is_err() {
                write_unknown(attribute, 0, data)?;
            }
        }
        Ok(())
    }

    6000 fn cuPointerSetAttribute(value: In<u32>, attribute: u32, address: Pointer) {
        // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is the only one that can be set.
        if attribute != 6 {
            return Err(Code::INVALID_VALUE.because(format!("attribute {attribute} can't be set")));
        }
        let on = value.get()? != 0;
        let set = driver()?.hardware.allocations.with(address, |one| one.sync_operations = on);
        set.ok_or_else(|| Code::INVALID_VALUE.because(format!("{address:#x} is inside no allocation")))
    }

    8000 fn cuMemRangeGetAttribute(
        data: Out<u8>, size: usize, attribute: u32, address: Pointer, count: usize,
    ) {
        data.required()?;
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

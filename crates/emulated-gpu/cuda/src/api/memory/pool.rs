//! Memory in the order of streams, and the pools that it comes from.

use std::sync::Arc;

use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::abi::{
    AccessDescription, Device, Handle, In, List, Location, Out, Pointer, PoolProperties,
};
use crate::api::calling_thread;
use crate::api::device::check;
use crate::api::driver::driver;
use crate::graph::Graph;
use crate::graph::operation::{GraphMemory, Operation};
use crate::memory::allocations::{AllocationKind, Owner};
use crate::memory::pool::{Attribute, Pool};
use crate::stream::{self, Stream};

/// Gives a program memory of a pool, or of a capture's graph. Nothing at all is null, as `cudaMalloc`
/// has it: NVIDIA's cuda.core allocates buffers of no bytes so, and its tests hold that it may.
fn allocate(out: Out<Pointer>, size: usize, pool: &Pool, stream: &Arc<Stream>) -> Result {
    if size == 0 {
        return out.set(0);
    }
    if let Some(capture) = stream.capture() {
        let memory = reserve(&capture.graph, size, pool, stream.context.handle)?;
        capture.add(stream, Operation::Memory(memory))?;
        return out.set(memory.address());
    }
    out.set(take(size, pool, stream.context.handle)?)
}

/// Memory of a pool, for a context.
fn take(size: usize, pool: &Pool, context: Handle) -> Result<Pointer> {
    pool.check(size as u64)?;
    let owner = Owner { context, home: pool.home() };
    let kind = AllocationKind::Pooled(pool.handle);
    let address = driver()?.hardware.allocations.device(size as u64, kind, owner)?;
    pool.note();
    Ok(address)
}

/// Memory of a graph's own, which stays until the graph goes.
///
/// # Errors
/// `OUT_OF_MEMORY`
pub(crate) fn reserve(
    graph: &Graph,
    size: usize,
    pool: &Pool,
    context: Handle,
) -> Result<GraphMemory> {
    let address = take(size, pool, context)?;
    driver()?.hardware.allocations.with(address, |one| one.reserved = true);
    graph.reserve(address);
    Ok(GraphMemory::Allocate { address, size, device: pool.home().device })
}

export! {
    11020 fn cuDeviceGetDefaultMemPool(out as required: Out<Handle>, device: Device) {
        out.set(driver()?.pools.default_of(check(device)?)?)
    }

    11020 fn cuDeviceGetMemPool(out as required: Out<Handle>, device: Device) {
        out.set(driver()?.pools.current(check(device)?)?)
    }

    11020 fn cuDeviceSetMemPool(device: Device, pool: Handle) {
        let driver = driver()?;
        driver.pools.set_current(check(device)?, &*driver.pool(pool)?)
    }

    11020 fn cuMemPoolCreate(out as required: Out<Handle>, properties: In<PoolProperties>) {
        let properties = properties.get()?;
        // Pinned memory, of a device, for this process alone.
        if properties.allocation_type != 1 || properties.location.kind != 1 {
            return Err(Code::INVALID_VALUE.because("a pool is of pinned memory on a device"));
        }
        let device = check(properties.location.id)?;
        if properties.handle_types != 0 {
            return Err(Code::NOT_SUPPORTED.because("memory can't be shared with other processes"));
        }
        out.set(driver()?.pools.create(device, properties.max_size as u64))
    }

    11020 fn cuMemPoolDestroy(pool: Handle) {
        driver()?.pools.destroy(pool)
    }

    11020 fn cuMemPoolTrimTo(pool: Handle, _keep: usize) {
        // Nothing is kept that is not in use.
        driver()?.pool(pool).map(|_| ())
    }

    11020 fn cuMemPoolGetAttribute(pool: Handle, attribute: u32, value as required: Out<u64>) {
        let (pool, attribute) = (driver()?.pool(pool)?, Attribute::of(attribute)?);
        let found = pool.attribute(attribute);
        if attribute.is_narrow() { value.cast::<i32>().set(found as i32) } else { value.set(found) }
    }

    11020 fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: Out<u64>) {
        let attribute = Attribute::of(attribute)?;
        let wanted = if attribute.is_narrow() {
            u64::from(value.cast::<i32>().get()? != 0)
        } else {
            value.get()?
        };
        driver()?.pool(pool)?.set_attribute(attribute, wanted)
    }

    11020 fn cuMemPoolSetAccess(pool: Handle, list: In<AccessDescription>, count: usize) {
        let pool = driver()?.pool(pool)?;
        for description in list.list(count)? {
            let device = check(description.location.id)?;
            // CU_MEM_ACCESS_FLAGS_PROT_READWRITE, …_NONE; read-only access is not offered.
            match description.flags {
                3 => pool.admit(device, true)?,
                0 => pool.admit(device, false)?,
                flags => return Err(Code::INVALID_VALUE.because(format!("unknown access {flags}"))),
            }
        }
        Ok(())
    }

    11020 fn cuMemPoolGetAccess(flags as required: Out<u32>, pool: Handle, location: In<Location>) {
        let device = check(location.get()?.id)?;
        flags.set(if driver()?.pool(pool)?.admits(device) { 3 } else { 0 })
    }

    11020 fn cuMemAllocAsync(out as required: Out<Pointer>, size: usize, stream: Handle)
    also cuMemAllocAsync_ptsz {
        let stream = calling_thread::stream(stream)?;
        let driver = driver()?;
        allocate(out, size, &*driver.pool(driver.pools.current(stream.context.device)?)?, &stream)
    }

    11020 fn cuMemAllocFromPoolAsync(out as required: Out<Pointer>, size: usize, pool: Handle, stream: Handle)
    also cuMemAllocFromPoolAsync_ptsz {
        let stream = calling_thread::stream(stream)?;
        allocate(out, size, &*driver()?.pool(pool)?, &stream)
    }

    11020 fn cuMemFreeAsync(address: Pointer, stream: Handle) also cuMemFreeAsync_ptsz {
        let stream = calling_thread::stream(stream)?;
        if address == 0 {
            return Ok(());
        }
        let state = driver()?.hardware.allocations.with(address, |one| {
            let fits = one.address == address && one.kind.is_freed_in_order() && !one.leaving;
            fits.then_some(one.reserved)
        });
        let Some(reserved) = state.flatten() else {
            return Err(Code::INVALID_VALUE.because(format!(
                "cuMemFreeAsync: no allocation of the device's begins at {address:#x}, or it is being freed"
            )));
        };
        match stream.capture() {
            Some(capture) if reserved => {
                let freed = Operation::Memory(GraphMemory::Free(address));
                capture.add(&stream, freed).map(|_| ())
            }
            Some(_) => Err(Code::INVALID_VALUE
                .because("a graph frees only what it allocated; free this outside of the capture")),
            // What belongs to a graph stays, to be there when the graph is launched again.
            None if reserved => {
                driver()?.hardware.allocations.with(address, |one| one.live = false);
                Ok(())
            }
            None => {
                driver()?.hardware.allocations.leave(address);
                stream::enqueue(&stream, Operation::Free(address))
            }
        }
    }
}

//! Stream-ordered memory, and memory pools.

use std::sync::Arc;

use crate::abi::error::{Code, Result, fail_if};
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

/// Allocates memory from a pool, or as a node of the graph if the stream is being captured. A size of 0 gives null,
/// like `cudaMalloc`: NVIDIA's cuda.core allocates empty buffers this way, and its tests expect success.
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

/// Allocates memory from a pool, for a context.
fn take(size: usize, pool: &Pool, context: Handle) -> Result<Pointer> {
    pool.check(size as u64)?;
    let owner = Owner { context, home: pool.home() };
    let kind = AllocationKind::Pooled(pool.handle);
    let address = driver()?.hardware.allocations.device(size as u64, kind, owner)?;
    pool.update_peak();
    Ok(address)
}

/// Reserves memory for a graph, which keeps it until the graph is destroyed.
///
/// # Errors
/// `OUT_OF_MEMORY` if the pool's limit or the device's memory is exceeded; `INVALID_VALUE` if the size is 0.
pub(crate) fn reserve(
    graph: &Graph,
    size: usize,
    pool: &Pool,
    context: Handle,
) -> Result<GraphMemory> {
    let address = take(size, pool, context)?;
    driver()?
        .hardware
        .allocations
        .with_allocation(address, |allocation| allocation.reserved = true);
    graph.reserve(address);
    Ok(GraphMemory::Allocate { address, size, device: pool.home().device })
}

export! {
    11020 fn cuDeviceGetDefaultMemPool(out as required: Out<Handle>, device: Device) {
        out.set(driver()?.pools.default_pool(check(device)?)?)
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
        // Only pinned memory on a device that is not shared with other processes is supported.
        if properties.allocation_type != 1 || properties.location.kind != 1 {
            return Err(Code::INVALID_VALUE
                .because("a pool must consist of pinned memory on a device"));
        }
        let device = check(properties.location.id)?;
        fail_if!(properties.handle_types != 0, NOT_SUPPORTED, "memory can't be shared with other processes");
        out.set(driver()?.pools.create(device, properties.max_size as u64))
    }

    11020 fn cuMemPoolDestroy(pool: Handle) {
        driver()?.pools.destroy(pool)
    }

    11020 fn cuMemPoolTrimTo(pool: Handle, _keep: usize) {
        // There is nothing to trim, because pools keep no unused memory.
        driver()?.pool(pool).map(|_| ())
    }

    11020 fn cuMemPoolGetAttribute(pool: Handle, attribute: u32, value as required: Out<u64>) {
        let (pool, attribute) = (driver()?.pool(pool)?, Attribute::from_number(attribute)?);
        let number = pool.attribute(attribute);
        if attribute.is_narrow() { value.cast::<i32>().set(number as i32) } else { value.set(number) }
    }

    11020 fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: Out<u64>) {
        let attribute = Attribute::from_number(attribute)?;
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
            // CU_MEM_ACCESS_FLAGS_PROT_READWRITE, …_NONE; read-only access is not supported.
            match description.flags {
                3 => pool.set_access(device, true)?,
                0 => pool.set_access(device, false)?,
                flags => return Err(Code::INVALID_VALUE.because(format!("unknown access {flags}"))),
            }
        }
        Ok(())
    }

    11020 fn cuMemPoolGetAccess(flags as required: Out<u32>, pool: Handle, location: In<Location>) {
        let device = check(location.get()?.id)?;
        flags.set(if driver()?.pool(pool)?.allows_access(device) { 3 } else { 0 })
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
        let state = driver()?.hardware.allocations.with_allocation(address, |allocation| {
            let fits = allocation.address == address && allocation.kind.is_freed_in_order() && !allocation.being_freed;
            fits.then_some(allocation.reserved)
        });
        let Some(reserved) = state.flatten() else {
            return Err(Code::INVALID_VALUE.because(format!(
                "cuMemFreeAsync: no device allocation begins at {address:#x}, or it is being freed already"
            )));
        };
        match stream.capture() {
            Some(capture) if reserved => {
                let freed = Operation::Memory(GraphMemory::Free(address));
                capture.add(&stream, freed).map(|_| ())
            }
            Some(_) => Err(Code::INVALID_VALUE
                .because("a graph can only free memory that one of its nodes allocated; free this outside the capture")),
            // Memory of a graph stays reserved for further launches.
            None if reserved => {
                driver()?.hardware.allocations.with_allocation(address, |allocation| allocation.live = false);
                Ok(())
            }
            None => {
                driver()?.hardware.allocations.begin_free(address);
                stream::enqueue(&stream, Operation::Free(address))
            }
        }
    }
}

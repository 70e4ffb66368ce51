//! Memory allocation and free nodes. The memory exists as long as the graph, and its address is known when the node
//! is created.

use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{AllocationNode, Device, Handle, In, Out, Pointer};
use crate::api::calling_thread;
use crate::api::device::check;
use crate::api::driver::driver;
use crate::api::graph::nodes::{NewNode, graph_of};
use crate::api::memory::pool::reserve;
use crate::graph::operation::{GraphMemory, Operation};

/// The allocation or free that a node performs.
fn memory_of(node: Handle) -> Result<GraphMemory> {
    graph_of(node)?.with_node(node, |node| match node.operation() {
        Some(Operation::Memory(memory)) => Ok(*memory),
        _ => Err(Code::INVALID_VALUE.because("the node neither allocates memory nor frees any")),
    })
}

/// Adds an allocation node, and writes the memory's address.
///
/// # Errors
/// `NOT_SUPPORTED` unless the node allocates device memory that is not shared with other processes; `INVALID_VALUE`
/// if there is no such graph; otherwise the errors of [`reserve`].
pub(crate) unsafe fn add_allocation(place: NewNode, parameters: Out<AllocationNode>) -> Result {
    place.out.required()?;
    let mut wanted = parameters.get()?;
    if wanted.pool.location.kind != 1 || wanted.pool.handle_types != 0 {
        return Err(Code::NOT_SUPPORTED.because(
            "a graph can only allocate device memory that isn't shared with other processes",
        ));
    }
    let context = calling_thread::context()?.handle;
    let driver = driver()?;
    let owner = driver.graph(place.graph)?;
    let pool = driver.pool(driver.pools.current(check(wanted.pool.location.id)?)?)?;
    let memory = reserve(&owner, wanted.size, &pool, context)?;
    place.add(Operation::Memory(memory))?;
    wanted.address = memory.address();
    parameters.set(wanted)
}

/// Adds a node that frees memory of a graph.
///
/// # Errors
/// `INVALID_VALUE` if the address is not in graph memory.
pub(crate) unsafe fn add_free(place: NewNode, address: Pointer) -> Result {
    let is_reserved = driver()?.hardware.allocations.with_allocation(address, |allocation| {
        allocation.address == address && allocation.reserved
    });
    if is_reserved != Some(true) {
        return Err(Code::INVALID_VALUE.because(format!(
            "a free node needs memory of an allocation node, and {address:#x} isn't"
        )));
    }
    place.add(Operation::Memory(GraphMemory::Free(address)))
}

export! {
    11040 fn cuDeviceGetGraphMemAttribute(device: Device, attribute: u32, value as required: Out<u64>) {
        value.set(driver()?.hardware.graph_memory.attribute(check(device)?, attribute)?)
    }

    11040 fn cuDeviceSetGraphMemAttribute(device: Device, attribute: u32, value: Out<u64>) {
        fail_if!(value.get()? != 0, INVALID_VALUE, "the peak can only be set to 0");
        driver()?.hardware.graph_memory.reset(check(device)?, attribute)
    }

    11040 fn cuGraphAddMemAllocNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize,
        parameters: Out<AllocationNode>,
    ) {
        add_allocation(NewNode { out, graph, after, count }, parameters)
    }

    11040 fn cuGraphMemAllocNodeGetParams(node: Handle, parameters as required: Out<AllocationNode>) {
        let GraphMemory::Allocate { address, size, device } = memory_of(node)? else {
            return Err(Code::INVALID_VALUE.because("the node frees memory"));
        };
        parameters.set(AllocationNode::pinned_on(address, size, device))
    }

    11040 fn cuGraphAddMemFreeNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, address: Pointer,
    ) {
        add_free(NewNode { out, graph, after, count }, address)
    }

    11040 fn cuGraphMemFreeNodeGetParams(node: Handle, address as required: Out<Pointer>) {
        let GraphMemory::Free(freed) = memory_of(node)? else {
            return Err(Code::INVALID_VALUE.because("the node allocates memory"));
        };
        address.set(freed)
    }
}

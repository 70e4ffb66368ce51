//! Nodes of graphs by one structure for all types, and the conditions by which some of them decide what runs.

use c_abi::export;

use crate::abi::{Copy3D, DriverCopy3D, KernelNode};
use crate::api::copy::driver_copy;
use crate::context::current;
use crate::driver;
use crate::ffi::{Out, Result};
use crate::registry::kernel;

/// Words of the union of a `cudaGraphNodeParams`.
const WORDS: usize = 29;

/// `cudaGraphNodeParams`, and `CUgraphNodeParams`: most types are the same in both.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnyNode {
    node_type: u32,
    reserved: [i32; 3],
    of_type: [usize; WORDS],
    reserved_behind: i64,
}

/// `cudaMemcpyNodeParams`
#[repr(C)]
#[derive(Clone, Copy)]
struct CopyNode {
    flags: i32,
    reserved: [i32; 3],
    copy: Copy3D,
}

/// `CUDA_MEMCPY_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
struct DriverCopyNode {
    flags: i32,
    reserved: i32,
    context: usize,
    copy: DriverCopy3D,
}

/// As a structure stands at the beginning of the union.
fn union_of<T: Copy>(value: T) -> [usize; WORDS] {
    const { assert!(size_of::<T>() <= size_of::<[usize; WORDS]>()) };
    let mut words = [0; WORDS];
    // SAFETY: there is room for it, and words may be whatever a structure is.
    unsafe { words.as_mut_ptr().cast::<T>().write_unaligned(value) };
    words
}

/// Calls the driver with the parameters of a node: the program's own, into which it writes what it gives, or
/// where the driver describes such a node otherwise, those.
///
/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn with_driver_s(
    parameters: Out<'_, AnyNode>,
    call: impl FnOnce(usize) -> Result,
) -> Result {
    let context = current()?;
    parameters.required_as("nodeParams")?;
    let given = parameters.get()?;
    let of_type = match given.node_type {
        0 => {
            let node = given.of_type.as_ptr().cast::<KernelNode>().read_unaligned();
            union_of(KernelNode { function: kernel(node.function)?, ..node })
        }
        1 => {
            let node = given.of_type.as_ptr().cast::<CopyNode>().read_unaligned();
            let CopyNode { flags, reserved: [reserved, ..], copy } = node;
            union_of(DriverCopyNode { flags, reserved, context, copy: driver_copy(&copy)? })
        }
        _ => return call(parameters.address()),
    };
    let node = AnyNode { of_type, ..given };
    call(&raw const node as usize)
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn add(
    out: usize,
    graph: usize,
    before: usize,
    edges: usize,
    count: usize,
    parameters: Out<'_, AnyNode>,
) -> Result {
    with_driver_s(parameters, |node| {
        driver::cuGraphAddNode_v2(out, graph, before, edges, count, node)
    })
}

export! {
    /// A node of any type.
    fn cudaGraphAddNode(
        out: usize, graph: usize, before: usize, edges: usize, count: usize, parameters: Out<'_, AnyNode>
    ) {
        add(out, graph, before, edges, count, parameters)
    }

    /// The same for programs of CUDA 12.
    fn cudaGraphAddNode_v2(
        out: usize, graph: usize, before: usize, edges: usize, count: usize, parameters: Out<'_, AnyNode>
    ) {
        add(out, graph, before, edges, count, parameters)
    }

    /// Other parameters for a node.
    fn cudaGraphNodeSetParams(at: usize, parameters: Out<'_, AnyNode>) {
        with_driver_s(parameters, |node| driver::cuGraphNodeSetParams(at, node))
    }

    /// The same, where the graph is ready.
    fn cudaGraphExecNodeSetParams(exec: usize, at: usize, parameters: Out<'_, AnyNode>) {
        with_driver_s(parameters, |node| driver::cuGraphExecNodeSetParams(exec, at, node))
    }

    /// A condition for a node of a graph, or of one inside it.
    fn cudaGraphConditionalHandleCreate(out: usize, graph: usize, default: u32, flags: u32) {
        driver::cuGraphConditionalHandleCreate(out, graph, current()?, default, flags)
    }

    /// The same for a context, where it is not 0.
    fn cudaGraphConditionalHandleCreate_v2(
        out: usize, graph: usize, context: usize, default: u32, flags: u32
    ) {
        let context = if context == 0 { current()? } else { context };
        driver::cuGraphConditionalHandleCreate(out, graph, context, default, flags)
    }
}

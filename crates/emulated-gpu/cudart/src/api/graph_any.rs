//! Graph nodes described by one structure for all types, and handles of conditional nodes.

use c_abi::export;

use crate::abi::{Copy3D, DriverCopy3D, KernelNode};
use crate::api::copy::driver_copy;
use crate::context::current;
use crate::driver;
use crate::ffi::{Out, Result};
use crate::registry::kernel;

/// Size of the union in `cudaGraphNodeParams`, in words.
const UNION_WORDS: usize = 29;

/// `cudaGraphNodeParams` and `CUgraphNodeParams`; most node types have the same parameters in both.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnyNode {
    node_type: u32,
    reserved: [i32; 3],
    parameters: [usize; UNION_WORDS],
    reserved_end: i64,
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

/// Stores a structure at the start of the union.
fn to_union<T: Copy>(value: T) -> [usize; UNION_WORDS] {
    const { assert!(size_of::<T>() <= size_of::<[usize; UNION_WORDS]>()) };
    let mut words = [0; UNION_WORDS];
    // SAFETY: the assertion ensures that the structure fits, and every bit pattern is a valid word.
    unsafe { words.as_mut_ptr().cast::<T>().write_unaligned(value) };
    words
}

/// Calls the driver with the parameters of a node. If the driver's layout for this node type is the same, it gets the
/// program's structure, in which it may return values. Otherwise it gets a converted copy.
unsafe fn with_driver_parameters(
    parameters: Out<'_, AnyNode>,
    call: impl FnOnce(usize) -> Result,
) -> Result {
    let context = current()?;
    parameters.require_as("nodeParams")?;
    let node = parameters.get()?;
    let converted = match node.node_type {
        0 => {
            let kernel_node = node.parameters.as_ptr().cast::<KernelNode>().read_unaligned();
            to_union(KernelNode { function: kernel(kernel_node.function)?, ..kernel_node })
        }
        1 => {
            let copy_node = node.parameters.as_ptr().cast::<CopyNode>().read_unaligned();
            let CopyNode { flags, reserved: [reserved, ..], copy } = copy_node;
            to_union(DriverCopyNode { flags, reserved, context, copy: driver_copy(&copy)? })
        }
        _ => return call(parameters.address()),
    };
    let node = AnyNode { parameters: converted, ..node };
    call(&raw const node as usize)
}

export! {
    /// Adds a node of any type.
    fn cudaGraphAddNode(
        out: usize, graph: usize, before: usize, edges: usize, count: usize, parameters: Out<'_, AnyNode>
    ) {
        with_driver_parameters(parameters, |node| {
            driver::cuGraphAddNode_v2(out, graph, before, edges, count, node)
        })
    }

    /// Adds a node of any type, for programs built with CUDA 12.
    fn cudaGraphAddNode_v2(
        out: usize, graph: usize, before: usize, edges: usize, count: usize, parameters: Out<'_, AnyNode>
    ) {
        with_driver_parameters(parameters, |node| {
            driver::cuGraphAddNode_v2(out, graph, before, edges, count, node)
        })
    }

    /// Sets the parameters of a node.
    fn cudaGraphNodeSetParams(at: usize, parameters: Out<'_, AnyNode>) {
        with_driver_parameters(parameters, |node| driver::cuGraphNodeSetParams(at, node))
    }

    /// Sets the parameters of a node in an instantiated graph.
    fn cudaGraphExecNodeSetParams(exec: usize, at: usize, parameters: Out<'_, AnyNode>) {
        with_driver_parameters(parameters, |node| driver::cuGraphExecNodeSetParams(exec, at, node))
    }

    /// Creates a condition for a conditional node of a graph or of a graph nested in it.
    fn cudaGraphConditionalHandleCreate(out: usize, graph: usize, default: u32, flags: u32) {
        driver::cuGraphConditionalHandleCreate(out, graph, current()?, default, flags)
    }

    /// Creates a condition for a conditional node, in a context, where 0 means the current context.
    fn cudaGraphConditionalHandleCreate_v2(
        out: usize, graph: usize, context: usize, default: u32, flags: u32
    ) {
        let context = if context == 0 { current()? } else { context };
        driver::cuGraphConditionalHandleCreate(out, graph, context, default, flags)
    }
}

//! Graph nodes whose parameters have another layout in the driver, and creation functions with fewer arguments than
//! the driver's.

use c_abi::export;

use crate::abi::{Copy3D, Extent, KernelNode, PitchedPointer};
use crate::api::copy::driver_copy;
use crate::context::{bind_context, current};
use crate::driver;
use crate::ffi::{In, Result};
use crate::registry::kernel;

/// Replaces the kernel in the parameters by the driver's handle.
unsafe fn driver_kernel_node(parameters: In<'_, KernelNode>) -> Result<KernelNode> {
    bind_context()?;
    let node = parameters.get_as("pNodeParams")?;
    Ok(KernelNode { function: kernel(node.function)?, ..node })
}

/// Describes the copy of a contiguous range as a three-dimensional copy.
fn linear(to: usize, from: usize, bytes: usize, kind: i32) -> Copy3D {
    let pitched = |address| PitchedPointer { address, pitch: bytes, width: bytes, height: 1 };
    let extent = Extent { width: bytes, height: 1, depth: 1 };
    Copy3D { from: pitched(from), to: pitched(to), extent, kind, ..Copy3D::default() }
}

unsafe fn add_copy(out: usize, graph: usize, before: usize, count: usize, copy: &Copy3D) -> Result {
    let copy = driver_copy(copy)?;
    driver::cuGraphAddMemcpyNode(out, graph, before, count, &raw const copy as usize, current()?)
}

export! {
    /// Creates a stream.
    fn cudaStreamCreate(out: usize) {
        bind_context()?;
        driver::cuStreamCreate(out, 0)
    }

    /// Creates an event.
    fn cudaEventCreate(out: usize) {
        bind_context()?;
        driver::cuEventCreate(out, 0)
    }

    /// Adds a kernel node.
    fn cudaGraphAddKernelNode(
        out: usize, graph: usize, before: usize, count: usize, parameters: In<'_, KernelNode>
    ) {
        let node = driver_kernel_node(parameters)?;
        driver::cuGraphAddKernelNode(out, graph, before, count, &raw const node as usize)
    }

    /// Sets the parameters of a kernel node.
    fn cudaGraphKernelNodeSetParams(at: usize, parameters: In<'_, KernelNode>) {
        let node = driver_kernel_node(parameters)?;
        driver::cuGraphKernelNodeSetParams(at, &raw const node as usize)
    }

    /// Sets the parameters of a kernel node in an instantiated graph.
    fn cudaGraphExecKernelNodeSetParams(exec: usize, at: usize, parameters: In<'_, KernelNode>) {
        let node = driver_kernel_node(parameters)?;
        driver::cuGraphExecKernelNodeSetParams(exec, at, &raw const node as usize)
    }

    /// Adds a copy node.
    fn cudaGraphAddMemcpyNode(
        out: usize, graph: usize, before: usize, count: usize, copy: In<'_, Copy3D>
    ) {
        add_copy(out, graph, before, count, &copy.get_as("pCopyParams")?)
    }

    /// Adds a node that copies a contiguous range.
    fn cudaGraphAddMemcpyNode1D(
        out: usize, graph: usize, before: usize, count: usize, to: usize, from: usize, bytes: usize,
        kind: i32
    ) {
        add_copy(out, graph, before, count, &linear(to, from, bytes, kind))
    }

    /// Sets the parameters of a copy node.
    fn cudaGraphMemcpyNodeSetParams(at: usize, copy: In<'_, Copy3D>) {
        bind_context()?;
        let copy = driver_copy(&copy.get_as("pNodeParams")?)?;
        driver::cuGraphMemcpyNodeSetParams(at, &raw const copy as usize)
    }

    /// Sets the parameters of a node that copies a contiguous range.
    fn cudaGraphMemcpyNodeSetParams1D(at: usize, to: usize, from: usize, bytes: usize, kind: i32) {
        bind_context()?;
        let copy = driver_copy(&linear(to, from, bytes, kind))?;
        driver::cuGraphMemcpyNodeSetParams(at, &raw const copy as usize)
    }

    /// Sets the parameters of a copy node in an instantiated graph.
    fn cudaGraphExecMemcpyNodeSetParams(exec: usize, at: usize, copy: In<'_, Copy3D>) {
        let copy = driver_copy(&copy.get_as("pNodeParams")?)?;
        driver::cuGraphExecMemcpyNodeSetParams(exec, at, &raw const copy as usize, current()?)
    }

    /// Sets the parameters of a node that copies a contiguous range, in an instantiated graph.
    fn cudaGraphExecMemcpyNodeSetParams1D(
        exec: usize, at: usize, to: usize, from: usize, bytes: usize, kind: i32
    ) {
        let copy = driver_copy(&linear(to, from, bytes, kind))?;
        driver::cuGraphExecMemcpyNodeSetParams(exec, at, &raw const copy as usize, current()?)
    }

    /// Adds a memset node; its parameters have the driver's layout.
    fn cudaGraphAddMemsetNode(out: usize, graph: usize, before: usize, count: usize, fill: usize) {
        driver::cuGraphAddMemsetNode(out, graph, before, count, fill, current()?)
    }

    /// Sets the parameters of a memset node in an instantiated graph.
    fn cudaGraphExecMemsetNodeSetParams(exec: usize, at: usize, fill: usize) {
        driver::cuGraphExecMemsetNodeSetParams(exec, at, fill, current()?)
    }
}

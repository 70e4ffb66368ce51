//! Nodes of graphs whose parameters the runtime writes otherwise than the driver, and what both make
//! with fewer arguments.

use c_abi::export;

use crate::abi::{Copy3D, Extent, KernelNode, Pitched};
use crate::api::copy::driver_copy;
use crate::context::{bind, current};
use crate::driver;
use crate::ffi::{In, Result};
use crate::registry::kernel;

/// The parameters, with the driver's kernel.
///
/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn node(parameters: In<'_, KernelNode>) -> Result<KernelNode> {
    bind()?;
    let given = parameters.get_as("pNodeParams")?;
    Ok(KernelNode { function: kernel(given.function)?, ..given })
}

/// A range, as a copy in three dimensions.
fn line(to: usize, from: usize, bytes: usize, kind: i32) -> Copy3D {
    let part = |address| Pitched { address, pitch: bytes, width: bytes, height: 1 };
    let extent = Extent { width: bytes, height: 1, depth: 1 };
    Copy3D { from: part(from), to: part(to), extent, kind, ..Copy3D::default() }
}

/// # Safety
/// The addresses are the program's, as the driver's function wants them.
unsafe fn add_copy(out: usize, graph: usize, before: usize, count: usize, copy: &Copy3D) -> Result {
    let copy = driver_copy(copy)?;
    driver::cuGraphAddMemcpyNode(out, graph, before, count, &raw const copy as usize, current()?)
}

export! {
    /// A stream.
    fn cudaStreamCreate(out: usize) {
        bind()?;
        driver::cuStreamCreate(out, 0)
    }

    /// An event.
    fn cudaEventCreate(out: usize) {
        bind()?;
        driver::cuEventCreate(out, 0)
    }

    /// A launch.
    fn cudaGraphAddKernelNode(
        out: usize, graph: usize, before: usize, count: usize, parameters: In<'_, KernelNode>
    ) {
        let node = node(parameters)?;
        driver::cuGraphAddKernelNode(out, graph, before, count, &raw const node as usize)
    }

    /// Other parameters for a launch.
    fn cudaGraphKernelNodeSetParams(at: usize, parameters: In<'_, KernelNode>) {
        let node = node(parameters)?;
        driver::cuGraphKernelNodeSetParams(at, &raw const node as usize)
    }

    /// The same, where the graph is ready.
    fn cudaGraphExecKernelNodeSetParams(exec: usize, at: usize, parameters: In<'_, KernelNode>) {
        let node = node(parameters)?;
        driver::cuGraphExecKernelNodeSetParams(exec, at, &raw const node as usize)
    }

    /// A copy.
    fn cudaGraphAddMemcpyNode(
        out: usize, graph: usize, before: usize, count: usize, copy: In<'_, Copy3D>
    ) {
        add_copy(out, graph, before, count, &copy.get_as("pCopyParams")?)
    }

    /// A copy of a range.
    fn cudaGraphAddMemcpyNode1D(
        out: usize, graph: usize, before: usize, count: usize, to: usize, from: usize, bytes: usize,
        kind: i32
    ) {
        add_copy(out, graph, before, count, &line(to, from, bytes, kind))
    }

    /// Other parameters for a copy.
    fn cudaGraphMemcpyNodeSetParams(at: usize, copy: In<'_, Copy3D>) {
        bind()?;
        let copy = driver_copy(&copy.get_as("pNodeParams")?)?;
        driver::cuGraphMemcpyNodeSetParams(at, &raw const copy as usize)
    }

    /// The same, of a range.
    fn cudaGraphMemcpyNodeSetParams1D(at: usize, to: usize, from: usize, bytes: usize, kind: i32) {
        bind()?;
        let copy = driver_copy(&line(to, from, bytes, kind))?;
        driver::cuGraphMemcpyNodeSetParams(at, &raw const copy as usize)
    }

    /// The same, where the graph is ready.
    fn cudaGraphExecMemcpyNodeSetParams(exec: usize, at: usize, copy: In<'_, Copy3D>) {
        let copy = driver_copy(&copy.get_as("pNodeParams")?)?;
        driver::cuGraphExecMemcpyNodeSetParams(exec, at, &raw const copy as usize, current()?)
    }

    /// The same, of a range.
    fn cudaGraphExecMemcpyNodeSetParams1D(
        exec: usize, at: usize, to: usize, from: usize, bytes: usize, kind: i32
    ) {
        let copy = driver_copy(&line(to, from, bytes, kind))?;
        driver::cuGraphExecMemcpyNodeSetParams(exec, at, &raw const copy as usize, current()?)
    }

    /// A fill; its parameters are the driver's.
    fn cudaGraphAddMemsetNode(out: usize, graph: usize, before: usize, count: usize, fill: usize) {
        driver::cuGraphAddMemsetNode(out, graph, before, count, fill, current()?)
    }

    /// Other parameters for a fill, where the graph is ready.
    fn cudaGraphExecMemsetNodeSetParams(exec: usize, at: usize, fill: usize) {
        driver::cuGraphExecMemsetNodeSetParams(exec, at, fill, current()?)
    }
}

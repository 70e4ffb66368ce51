//! The nodes of graphs: adding them, and their parameters.

use std::sync::Arc;

use crate::abi::copy::{Copy3d, Side3d};
use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::abi::{Handle, HostNode, In, KernelNode, KernelNodeV1, List, Out, SetNode};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::api::graph::executable;
use crate::api::memory::copy::transfer_of;
use crate::execution::launch::{Shape, prepare};
use crate::graph::operation::Operation;
use crate::graph::{Child, Content, Graph, Node};
use crate::memory::copy::{CopyMemory, End, Fill, Transfer};

/// Adds a node behind others of a graph.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) unsafe fn add(
    out: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    content: impl Into<Content>,
) -> Result {
    out.required()?;
    let after = after.list(count)?;
    out.set(driver()?.graph(graph)?.add(content, &after)?)
}

/// The graph that a node is in.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) fn graph_of(node: Handle) -> Result<Arc<Graph>> {
    driver()?.graphs.of_nodes.find(node, Code::INVALID_VALUE, "node")
}

/// What a function makes of the node of a handle.
fn with<T>(node: Handle, f: impl FnOnce(&mut Node) -> Result<T>) -> Result<T> {
    graph_of(node)?.with(node, f)
}

/// Replaces the work of a node by work of the same type.
pub(crate) fn set(node: Handle, operation: Operation) -> Result {
    with(node, |node| {
        let old = node.operation().filter(|old| old.node_type() == operation.node_type());
        node.content = operation.with_attributes_of(old.ok_or_else(wrong_type)?)?.into();
        Ok(())
    })
}

/// The same in an executable graph.
pub(crate) fn set_in(graph: Handle, node: Handle, operation: Operation) -> Result {
    executable(graph)?.with(node, |step| {
        if step.operation.node_type() != operation.node_type() {
            return Err(wrong_type());
        }
        step.operation = operation.with_attributes_of(&step.operation)?;
        Ok(())
    })
}

fn wrong_type() -> crate::abi::error::Error {
    Code::INVALID_VALUE.because("the node is of another type")
}

unsafe fn kernel(parameters: &KernelNodeV1) -> Result<Operation> {
    let KernelNodeV1 { function, grid, block, shared, parameters, extra } = *parameters;
    let function = driver()?.function(function)?;
    let shape = Shape { grid, block, shared, cooperative: false };
    let current = calling_thread::context_of_any_state;
    let launch = prepare(&function, shape, parameters, extra, current)?;
    Ok(Operation::Launch { function, launch })
}

/// The second form names a function, or a kernel of a library.
pub(crate) unsafe fn kernel_v2(given: &KernelNode) -> Result<Operation> {
    let KernelNode { function, grid, block, shared, parameters, extra, kernel: other, .. } = *given;
    let function = if function == 0 { other } else { function };
    kernel(&KernelNodeV1 { function, grid, block, shared, parameters, extra })
}

pub(crate) fn parameters_of(node: Handle) -> Result<KernelNodeV1<'static>> {
    with(node, |node| {
        let Content::Work(Operation::Launch { function, launch }) = &node.content else {
            return Err(wrong_type());
        };
        let base = launch.parameters.as_ptr() as usize;
        let layouts = function.kernel.parameters();
        node.pointers = layouts.iter().map(|layout| base + layout.offset as usize).collect();
        Ok(KernelNodeV1 {
            function: function.handle,
            grid: launch.grid,
            block: launch.block,
            shared: launch.dynamic_shared,
            // SAFETY: the program may read them until the node changes, or it is asked for them again.
            parameters: unsafe { In::new(node.pointers.as_ptr()) },
            extra: In::null(),
        })
    })
}

pub(crate) unsafe fn copy(parameters: In<Copy3d>) -> Result<Operation> {
    let transfer = transfer_of(&parameters.get()?)?;
    transfer.check(driver()?.hardware.memory())?;
    Ok(Operation::Copy(Arc::new(transfer)))
}

pub(crate) fn description_of(transfer: &Transfer) -> Copy3d {
    let Transfer { width, height, depth, .. } = *transfer;
    let side = |end: &End| {
        let (kind, host, device) = match end.place {
            CopyMemory::Device(_) if end.array.is_some() => (3, 0, 0),
            CopyMemory::Device(address) => (2, 0, address),
            CopyMemory::Host(memory) => (1, memory.address(), 0),
            CopyMemory::Staged(_) => (1, 0, 0),
        };
        let (array, [x, y, z]) = end.array.unwrap_or_default();
        // How far a single row is from the next means nothing, and cuda.core takes a distance for a sign of
        // several.
        let (pitch, height) = match (height, depth) {
            (1, 1) => (0, 0),
            _ => (end.pitch, end.slice / end.pitch.max(1)),
        };
        Side3d { x, y, z, kind, host, device, array, pitch, height, ..Side3d::default() }
    };
    let described =
        || Copy3d { from: side(&transfer.from), to: side(&transfer.to), width, height, depth };
    transfer.given.unwrap_or_else(described)
}

pub(crate) fn fill(parameters: In<SetNode>) -> Result<Operation> {
    let SetNode { target, pitch, value, element, width, height } = parameters.get()?;
    let (address, pitch, size) = (target, pitch as u64, u64::from(element));
    let fill = Fill { address, pitch, value, size, width: width as u64, height: height as u64 };
    fill.check(driver()?.hardware.memory())?;
    Ok(Operation::Fill(fill))
}

pub(crate) fn description_of_fill(fill: &Fill) -> SetNode {
    let Fill { address, pitch, value, size, width, height } = *fill;
    SetNode {
        target: address,
        pitch: pitch as usize,
        value,
        element: size as u32,
        width: width as usize,
        height: height as usize,
    }
}

pub(crate) fn host(parameters: In<HostNode>) -> Result<Operation> {
    let HostNode { function, data } = parameters.get()?;
    if function.is_none() {
        return Err(Code::INVALID_VALUE.because("the host function is null"));
    }
    Ok(Operation::Host { function, data })
}

/// Adds a node with a copy of a graph.
///
/// # Errors
/// `INVALID_VALUE`, `OUT_OF_MEMORY`.
pub(crate) unsafe fn add_child(
    out: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    child: Handle,
) -> Result {
    let (outer, child) = (driver()?.graph(graph)?, driver()?.graph(child)?);
    add(out, graph, after, count, Content::Child(Child::copy_of(&child, &outer)?))
}

export! {
    10000 fn cuGraphAddKernelNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: In<KernelNodeV1>,
    ) {
        add(out, graph, after, count, kernel(&parameters.get()?)?)
    }

    12000 fn cuGraphAddKernelNode_v2(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: In<KernelNode>,
    ) {
        add(out, graph, after, count, kernel_v2(&parameters.get()?)?)
    }

    10000 fn cuGraphKernelNodeGetParams(node: Handle, parameters: Out<KernelNodeV1>) {
        parameters.set(parameters_of(node)?)
    }

    12000 fn cuGraphKernelNodeGetParams_v2(node: Handle, out: Out<KernelNode>) {
        let KernelNodeV1 { function, grid, block, shared, parameters, extra } = parameters_of(node)?;
        let context = driver()?.function(function).map_or(0, |function| function.context);
        out.set(KernelNode { function, grid, block, shared, parameters, extra, kernel: 0, context })
    }

    10000 fn cuGraphKernelNodeSetParams(node: Handle, parameters: In<KernelNodeV1>) {
        set(node, kernel(&parameters.get()?)?)
    }

    12000 fn cuGraphKernelNodeSetParams_v2(node: Handle, parameters: In<KernelNode>) {
        set(node, kernel_v2(&parameters.get()?)?)
    }

    10010 fn cuGraphExecKernelNodeSetParams(
        graph: Handle, node: Handle, parameters: In<KernelNodeV1>,
    ) {
        set_in(graph, node, kernel(&parameters.get()?)?)
    }

    12000 fn cuGraphExecKernelNodeSetParams_v2(
        graph: Handle, node: Handle, parameters: In<KernelNode>,
    ) {
        set_in(graph, node, kernel_v2(&parameters.get()?)?)
    }

    10000 fn cuGraphAddMemcpyNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: In<Copy3d>,
        _context: Handle,
    ) {
        add(out, graph, after, count, copy(parameters)?)
    }

    10000 fn cuGraphMemcpyNodeGetParams(node: Handle, parameters: Out<Copy3d>) {
        parameters.set(with(node, |node| match node.operation() {
            Some(Operation::Copy(transfer)) => Ok(description_of(transfer)),
            _ => Err(wrong_type()),
        })?)
    }

    10000 fn cuGraphMemcpyNodeSetParams(node: Handle, parameters: In<Copy3d>) {
        set(node, copy(parameters)?)
    }

    10020 fn cuGraphExecMemcpyNodeSetParams(
        graph: Handle, node: Handle, parameters: In<Copy3d>, _context: Handle,
    ) {
        set_in(graph, node, copy(parameters)?)
    }

    10000 fn cuGraphAddMemsetNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: In<SetNode>,
        _context: Handle,
    ) {
        add(out, graph, after, count, fill(parameters)?)
    }

    10000 fn cuGraphMemsetNodeGetParams(node: Handle, parameters: Out<SetNode>) {
        parameters.set(with(node, |node| match node.operation() {
            Some(Operation::Fill(fill)) => Ok(description_of_fill(fill)),
            _ => Err(wrong_type()),
        })?)
    }

    10000 fn cuGraphMemsetNodeSetParams(node: Handle, parameters: In<SetNode>) {
        set(node, fill(parameters)?)
    }

    10020 fn cuGraphExecMemsetNodeSetParams(
        graph: Handle, node: Handle, parameters: In<SetNode>, _context: Handle,
    ) {
        set_in(graph, node, fill(parameters)?)
    }

    10000 fn cuGraphAddHostNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: In<HostNode>,
    ) {
        add(out, graph, after, count, host(parameters)?)
    }

    10000 fn cuGraphHostNodeGetParams(node: Handle, parameters: Out<HostNode>) {
        parameters.set(with(node, |node| match node.operation() {
            Some(&Operation::Host { function, data }) => Ok(HostNode { function, data }),
            _ => Err(wrong_type()),
        })?)
    }

    10000 fn cuGraphHostNodeSetParams(node: Handle, parameters: In<HostNode>) {
        set(node, host(parameters)?)
    }

    10020 fn cuGraphExecHostNodeSetParams(graph: Handle, node: Handle, parameters: In<HostNode>) {
        set_in(graph, node, host(parameters)?)
    }

    10000 fn cuGraphAddChildGraphNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, child: Handle,
    ) {
        add_child(out, graph, after, count, child)
    }

    10000 fn cuGraphChildGraphNodeGetGraph(node: Handle, graph: Out<Handle>) {
        let outer = graph_of(node)?;
        graph.set(outer.with(node, |node| match &mut node.content {
            Content::Child(child) => child.give_out(&outer),
            _ => Err(wrong_type()),
        })?)
    }

    10000 fn cuGraphAddEmptyNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) {
        add(out, graph, after, count, Operation::Nothing)
    }

    11010 fn cuGraphAddEventRecordNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle,
    ) {
        let event = driver()?.event(event)?;
        add(out, graph, after, count, Operation::Record(event))
    }

    11010 fn cuGraphEventRecordNodeGetEvent(node: Handle, event: Out<Handle>) {
        event.set(with(node, |node| match node.operation() {
            Some(Operation::Record(event)) => Ok(event.handle),
            _ => Err(wrong_type()),
        })?)
    }

    11010 fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) {
        set(node, Operation::Record(driver()?.event(event)?))
    }

    11010 fn cuGraphExecEventRecordNodeSetEvent(graph: Handle, node: Handle, event: Handle) {
        set_in(graph, node, Operation::Record(driver()?.event(event)?))
    }

    11010 fn cuGraphAddEventWaitNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle,
    ) {
        let event = driver()?.event(event)?;
        add(out, graph, after, count, Operation::WaitForEvent(event))
    }

    11010 fn cuGraphEventWaitNodeGetEvent(node: Handle, event: Out<Handle>) {
        event.set(with(node, |node| match node.operation() {
            Some(Operation::WaitForEvent(event)) => Ok(event.handle),
            _ => Err(wrong_type()),
        })?)
    }

    11010 fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) {
        set(node, Operation::WaitForEvent(driver()?.event(event)?))
    }

    11010 fn cuGraphExecEventWaitNodeSetEvent(graph: Handle, node: Handle, event: Handle) {
        set_in(graph, node, Operation::WaitForEvent(driver()?.event(event)?))
    }

    10000 fn cuGraphNodeGetType(node: Handle, node_type: Out<u32>) {
        node_type.set(with(node, |node| Ok(node.content.node_type() as u32))?)
    }

    11060 fn cuGraphNodeSetEnabled(graph: Handle, node: Handle, enabled: u32) {
        executable(graph)?.with(node, |step| {
            if !step.operation.node_type().is_by_device() {
                return Err(Code::INVALID_VALUE.because("a node of this type can't be switched off"));
            }
            step.enabled = enabled != 0;
            Ok(())
        })
    }

    11060 fn cuGraphNodeGetEnabled(graph: Handle, node: Handle, enabled: Out<u32>) {
        enabled.set(executable(graph)?.with(node, |step| Ok(u32::from(step.enabled)))?)
    }

    10000 fn cuGraphDestroyNode(node: Handle) {
        let graph = graph_of(node)?;
        driver()?.graphs.of_nodes.remove(node);
        let gone = graph.nodes().remove(node);
        if let Some(node) = gone {
            node.forget_inside();
        }
        Ok(())
    }

    10000 fn cuGraphNodeFindInClone(out: Out<Handle>, node: Handle, clone: Handle) {
        out.required()?;
        let clone = driver()?.graph(clone)?;
        let missing = || Code::INVALID_VALUE.because("the graph is no clone of the node's");
        out.set(clone.origin.get(&node).copied().ok_or_else(missing)?)
    }
}

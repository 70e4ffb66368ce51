//! Graph nodes: adding them, and reading and changing their parameters.

use std::sync::Arc;

use crate::abi::copy::{Copy3d, Side3d};
use crate::abi::error::{Code, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Handle, HostNode, In, KernelNode, KernelNodeV1, List, Out, SetNode};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::api::graph::executable;
use crate::api::memory::copy::transfer_of;
use crate::execution::launch::{LaunchShape, prepare};
use crate::graph::operation::Operation;
use crate::graph::{Child, Content, Graph, Node};
use crate::memory::copy::{CopyMemory, End, Fill, Transfer};

/// The arguments of the functions that add a node: the graph, the nodes that the new one depends on, and the pointer
/// that receives its handle.
#[derive(Clone, Copy)]
pub(crate) struct NewNode<'a> {
    pub(crate) out: Out<'a, Handle>,
    pub(crate) graph: Handle,
    pub(crate) after: In<'a, Handle>,
    pub(crate) count: usize,
}

impl NewNode<'_> {
    /// Adds the node.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a handle is unknown or the pointer is null.
    pub(crate) unsafe fn add(self, content: impl Into<Content>) -> Result {
        self.out.required()?;
        let after = self.after.list(self.count)?;
        self.out.set(driver()?.graph(self.graph)?.add(content, &after)?)
    }

    /// Adds a child-graph node with a copy of a graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if a handle is unknown; otherwise the errors of [`Child::copy_of`].
    pub(crate) unsafe fn add_child(self, child: Handle) -> Result {
        let (outer, child) = (driver()?.graph(self.graph)?, driver()?.graph(child)?);
        self.add(Content::Child(Child::copy_of(&child, &outer)?))
    }
}

/// The graph that contains a node.
///
/// # Errors
/// `INVALID_VALUE` if the handle is unknown.
pub(crate) fn graph_of(node: Handle) -> Result<Arc<Graph>> {
    driver()?.graphs.graph_of_node.find(node, Code::INVALID_VALUE, "node")
}

/// Calls `f` with the node of a handle.
fn with_node<T>(node: Handle, f: impl FnOnce(&mut Node) -> Result<T>) -> Result<T> {
    graph_of(node)?.with_node(node, f)
}

/// Replaces a node's work by work of the same type.
pub(crate) fn set(node: Handle, operation: Operation) -> Result {
    with_node(node, |node| {
        let old = node.operation().filter(|old| old.node_type() == operation.node_type());
        node.content = operation.with_attributes_of(old.ok_or_else(wrong_type)?)?.into();
        Ok(())
    })
}

/// Replaces the work of a node in an executable graph by work of the same type.
pub(crate) fn set_in_executable(graph: Handle, node: Handle, operation: Operation) -> Result {
    executable(graph)?.with_step(node, |step| {
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
    let shape = LaunchShape { grid, block, shared, cooperative: false };
    let current = calling_thread::context_of_any_state;
    let launch = prepare(&function, shape, parameters, extra, current)?;
    Ok(Operation::Launch { function, launch })
}

/// Converts the second version of the parameters, which names a function or a kernel of a library,
/// to work.
pub(crate) unsafe fn kernel_v2(given: In<KernelNode>) -> Result<Operation> {
    let KernelNode { function, grid, block, shared, parameters, extra, kernel: other, .. } =
        given.get()?;
    let function = if function == 0 { other } else { function };
    kernel(&KernelNodeV1 { function, grid, block, shared, parameters, extra })
}

pub(crate) fn parameters_of(node: Handle) -> Result<KernelNodeV1<'static>> {
    with_node(node, |node| {
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
            // SAFETY: the list stays valid until the node changes or its parameters are read again.
            parameters: unsafe { In::new(node.pointers.as_ptr()) },
            extra: In::null(),
        })
    })
}

/// The parameters of a kernel node, in the structure's second version.
pub(crate) fn parameters_of_v2(node: Handle) -> Result<KernelNode<'static>> {
    let KernelNodeV1 { function, grid, block, shared, parameters, extra } = parameters_of(node)?;
    let context = driver()?.function(function).map_or(0, |function| function.context);
    Ok(KernelNode { function, grid, block, shared, parameters, extra, kernel: 0, context })
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
        // A single row needs no pitch, so 0 is returned: cuda.core would interpret another pitch as several rows.
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
    fail_if!(function.is_none(), INVALID_VALUE, "the host function is null");
    Ok(Operation::Host { function, data })
}

pub(crate) fn record(event: Handle) -> Result<Operation> {
    Ok(Operation::Record(driver()?.event(event)?))
}

pub(crate) fn wait(event: Handle) -> Result<Operation> {
    Ok(Operation::WaitForEvent(driver()?.event(event)?))
}

unsafe fn kernel_v1(parameters: In<KernelNodeV1>) -> Result<Operation> {
    kernel(&parameters.get()?)
}

/// The parameters of a node's work, if the work matches a pattern.
macro_rules! parameters_if {
    ($node:ident, $pattern:pat => $parameters:expr) => {
        with_node($node, |node| match node.operation() {
            Some($pattern) => Ok($parameters),
            _ => Err(wrong_type()),
        })
    };
}

/// Declares, for each type of node, the functions that add a node, return its parameters, and change them in a graph
/// and in an executable graph. A row also names the function that converts parameters to work, and the one that
/// converts a node's work to parameters. Further functions follow in the syntax of [`export!`].
macro_rules! nodes {
    (
        $(
            $since:literal $add:ident, $get:ident, $set:ident; $set_in_since:literal $set_in:ident:
            $given:ty, $read:ty $(, $context:ident)?; $make:ident; |$node:ident| $describe:expr;
        )*
        others: $($others:tt)*
    ) => {
        export! {
            $(
                $since fn $add(
                    out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: $given
                    $(, $context: Handle)?
                ) {
                    NewNode { out, graph, after, count }.add($make(parameters)?)
                }

                $since fn $get($node: Handle, parameters: Out<$read>) {
                    parameters.set($describe?)
                }

                $since fn $set(node: Handle, parameters: $given) {
                    set(node, $make(parameters)?)
                }

                $set_in_since fn $set_in(graph: Handle, node: Handle, parameters: $given $(, $context: Handle)?) {
                    set_in_executable(graph, node, $make(parameters)?)
                }
            )*
            $($others)*
        }
    };
}

nodes! {
    10000 cuGraphAddKernelNode, cuGraphKernelNodeGetParams, cuGraphKernelNodeSetParams;
        10010 cuGraphExecKernelNodeSetParams: In<KernelNodeV1>, KernelNodeV1; kernel_v1;
        |node| parameters_of(node);
    12000 cuGraphAddKernelNode_v2, cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeSetParams_v2;
        12000 cuGraphExecKernelNodeSetParams_v2: In<KernelNode>, KernelNode; kernel_v2;
        |node| parameters_of_v2(node);
    10000 cuGraphAddMemcpyNode, cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeSetParams;
        10020 cuGraphExecMemcpyNodeSetParams: In<Copy3d>, Copy3d, _context; copy;
        |node| parameters_if!(node, Operation::Copy(transfer) => description_of(transfer));
    10000 cuGraphAddMemsetNode, cuGraphMemsetNodeGetParams, cuGraphMemsetNodeSetParams;
        10020 cuGraphExecMemsetNodeSetParams: In<SetNode>, SetNode, _context; fill;
        |node| parameters_if!(node, Operation::Fill(fill) => description_of_fill(fill));
    10000 cuGraphAddHostNode, cuGraphHostNodeGetParams, cuGraphHostNodeSetParams;
        10020 cuGraphExecHostNodeSetParams: In<HostNode>, HostNode; host;
        |node| parameters_if!(node, &Operation::Host { function, data } => HostNode { function, data });
    11010 cuGraphAddEventRecordNode, cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeSetEvent;
        11010 cuGraphExecEventRecordNodeSetEvent: Handle, Handle; record;
        |node| parameters_if!(node, Operation::Record(event) => event.handle);
    11010 cuGraphAddEventWaitNode, cuGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeSetEvent;
        11010 cuGraphExecEventWaitNodeSetEvent: Handle, Handle; wait;
        |node| parameters_if!(node, Operation::WaitForEvent(event) => event.handle);

    others:
    10000 fn cuGraphAddChildGraphNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, child: Handle,
    ) {
        NewNode { out, graph, after, count }.add_child(child)
    }

    10000 fn cuGraphChildGraphNodeGetGraph(node: Handle, graph: Out<Handle>) {
        let outer = graph_of(node)?;
        graph.set(outer.with_node(node, |node| match &mut node.content {
            Content::Child(child) => child.register(&outer),
            _ => Err(wrong_type()),
        })?)
    }

    10000 fn cuGraphAddEmptyNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) {
        NewNode { out, graph, after, count }.add(Operation::NoOp)
    }

    10000 fn cuGraphNodeGetType(node: Handle, node_type: Out<u32>) {
        node_type.set(with_node(node, |node| Ok(node.content.node_type() as u32))?)
    }

    11060 fn cuGraphNodeSetEnabled(graph: Handle, node: Handle, enabled: u32) {
        executable(graph)?.with_step(node, |step| {
            if !step.operation.node_type().is_device_work() {
                return Err(Code::INVALID_VALUE
                    .because("a node of this type can't be disabled; kernels, copies and fills can"));
            }
            step.enabled = enabled != 0;
            Ok(())
        })
    }

    11060 fn cuGraphNodeGetEnabled(graph: Handle, node: Handle, enabled: Out<u32>) {
        enabled.set(executable(graph)?.with_step(node, |step| Ok(u32::from(step.enabled)))?)
    }

    10000 fn cuGraphDestroyNode(node: Handle) {
        let graph = graph_of(node)?;
        driver()?.graphs.graph_of_node.remove(node);
        let gone = graph.nodes().remove(node);
        if let Some(node) = gone {
            node.unregister_inner();
        }
        Ok(())
    }

    10000 fn cuGraphNodeFindInClone(out as required: Out<Handle>, node: Handle, clone: Handle) {
        let clone = driver()?.graph(clone)?;
        let missing = || Code::INVALID_VALUE.because("the graph is not a clone of the node's graph");
        out.set(clone.origin.get(&node).copied().ok_or_else(missing)?)
    }
}

//! The generic node functions, with one structure for all node types (`cuGraphAddNode`), and conditional nodes, which
//! can only be created this way.

use std::sync::Arc;

use crate::abi::copy::Copy3d;
use crate::abi::error::{Code, Error, Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{AllocationNode, Handle, HostNode, In, KernelNode, List, Out, Pointer, SetNode};
use crate::api::calling_thread;
use crate::api::driver::driver;
use crate::api::graph::child::{set_child, set_child_in};
use crate::api::graph::memory::{add_allocation, add_free};
use crate::api::graph::nodes::{
    NewNode, copy, description_of, description_of_fill, fill, graph_of, host, kernel_v2,
    parameters_of_v2, record, set, set_in_executable, wait,
};
use crate::graph::operation::decision::ConditionalKind;
use crate::graph::operation::{GraphMemory, NodeType, Operation};
use crate::graph::{Conditional, Content};

/// `CU_GRAPH_COND_ASSIGN_DEFAULT`
const ASSIGN_DEFAULT: u32 = 1;

/// `CUgraphNodeParams`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AnyNode {
    node_type: u32,
    reserved: [i32; 3],
    /// A union of 232 bytes.
    parameters_of_type: [u64; 29],
    reserved_end: u64,
}

/// `CUDA_MEMCPY_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
struct CopyNode {
    flags: i32,
    reserved: i32,
    context: Handle,
    copy: Copy3d,
}

/// `CUDA_CHILD_GRAPH_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
struct ChildNode {
    graph: Handle,
    ownership: i32,
}

/// `CUDA_CONDITIONAL_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
struct ConditionalNode<'a> {
    condition: u64,
    kind: u32,
    size: u32,
    graphs: In<'a, Handle>,
    context: Handle,
}

fn unsupported_type(node_type: NodeType) -> Error {
    Code::NOT_SUPPORTED.because(format!(
        "nodes of type {} can't be added or changed with CUgraphNodeParams here: external semaphores and \
         batched memory operations aren't emulated, and memory and conditional nodes have fixed parameters",
        node_type as u32
    ))
}

/// The type in a node's parameters.
///
/// # Errors
/// `INVALID_VALUE` if the type is unknown, or reserved fields aren't 0.
unsafe fn node_type(node: Out<AnyNode>) -> Result<NodeType> {
    let AnyNode { node_type, reserved, reserved_end, .. } = node.get()?;
    if reserved != [0; 3] || reserved_end != 0 {
        return Err(Code::INVALID_VALUE.because("reserved fields of CUgraphNodeParams are not 0"));
    }
    NodeType::from_number(node_type)
}

/// The union's member for the node's type.
unsafe fn member<'a, T>(node: Out<'a, AnyNode>) -> Out<'a, T> {
    node.cast::<u8>().offset(std::mem::offset_of!(AnyNode, parameters_of_type)).cast()
}

/// The graph in the parameters of a child-graph node; `None` for other types of nodes.
unsafe fn child(node: Out<AnyNode>) -> Result<Option<Handle>> {
    if node_type(node)? != NodeType::Graph {
        return Ok(None);
    }
    let ChildNode { graph, ownership } = member::<ChildNode>(node).get()?;
    if ownership != 0 {
        return Err(Code::NOT_SUPPORTED
            .because("a child-graph node always copies its graph; pass CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE (0)"));
    }
    Ok(Some(graph))
}

/// The work of a node whose parameters can be changed.
unsafe fn operation(node: Out<AnyNode>) -> Result<Operation> {
    let event = || member::<Handle>(node).get();
    Ok(match node_type(node)? {
        NodeType::Kernel => kernel_v2(member::<KernelNode>(node).read_only())?,
        NodeType::Copy => {
            let CopyNode { flags, reserved, .. } = member::<CopyNode>(node).get()?;
            fail_if!((flags, reserved) != (0, 0), INVALID_VALUE, "a copy in a graph has no flags");
            let inside = std::mem::offset_of!(CopyNode, copy);
            copy(member::<u8>(node).offset(inside).cast::<Copy3d>().read_only())?
        }
        NodeType::Fill => fill(member::<SetNode>(node).read_only())?,
        NodeType::Host => host(member::<HostNode>(node).read_only())?,
        NodeType::WaitEvent => wait(event()?)?,
        NodeType::RecordEvent => record(event()?)?,
        other => return Err(unsupported_type(other)),
    })
}

unsafe fn add_any(place: NewNode, node: Out<AnyNode>) -> Result {
    if let Some(child) = child(node)? {
        return place.add_child(child);
    }
    match node_type(node)? {
        NodeType::Empty => place.add(Operation::NoOp),
        NodeType::Allocate => add_allocation(place, member::<AllocationNode>(node)),
        NodeType::Free => add_free(place, member::<Pointer>(node).get()?),
        NodeType::Conditional => add_conditional(place, member(node)),
        _ => place.add(operation(node)?),
    }
}

/// The context with this handle; 0 for the current one.
fn context_of(handle: Handle) -> Result<Handle> {
    if handle == 0 {
        return Ok(calling_thread::context()?.handle);
    }
    let missing = || Code::INVALID_CONTEXT.because(format!("there is no context {handle:#x}"));
    driver()?.contexts.get(handle).map(|context| context.handle).ok_or_else(missing)
}

unsafe fn add_conditional(place: NewNode, parameters: Out<ConditionalNode>) -> Result {
    place.out.required()?;
    let given = parameters.get()?;
    let (graph, after) = (driver()?.graph(place.graph)?, place.after.list(place.count)?);
    let missing = || {
        let handle = given.condition;
        Code::INVALID_VALUE
            .because(format!("{handle:#x} is not a conditional handle, or its graph was destroyed"))
    };
    let handle = usize::try_from(given.condition).ok();
    let condition = handle.and_then(|handle| driver().ok()?.graphs.conditions.get(handle));
    let condition = condition.ok_or_else(missing)?;
    let kind = ConditionalKind::from_number(given.kind)?;
    kind.check_bodies(given.size)?;
    if context_of(given.context)? != condition.context {
        return Err(Code::INVALID_VALUE
            .because("the conditional handle and the node belong to different contexts"));
    }
    let node = Arc::new(Conditional::new(&graph, condition, kind, given.size)?);
    let added = graph.add(Content::Conditional(Arc::clone(&node)), &after);
    let added = added.inspect_err(|_| {
        // The caller has not received the handles of the node's bodies, so they are removed.
        node.unregister();
    })?;
    parameters.set(ConditionalNode { graphs: In::new(node.handles().as_ptr()), ..given })?;
    place.out.set(added)
}

/// Writes the type and the parameters of a node. Pointers in them are valid as long as the node exists.
unsafe fn describe(handle: Handle, out: Out<AnyNode>) -> Result {
    let graph = graph_of(handle)?;
    let content = graph.with_node(handle, |node| Ok(node.content.clone()))?;
    let node_type = content.node_type() as u32;
    out.set(AnyNode { node_type, reserved: [0; 3], parameters_of_type: [0; 29], reserved_end: 0 })?;
    let operation = match content {
        Content::Work(operation) => operation,
        Content::Child(_) => {
            let inside = graph.with_node(handle, |node| match &mut node.content {
                Content::Child(child) => child.register(&graph),
                _ => Err(Code::INVALID_VALUE.because("another thread has changed the node")),
            })?;
            // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID: the graph belongs to the node.
            return member(out).set(ChildNode { graph: inside, ownership: -1 });
        }
        Content::Conditional(node) => {
            return member(out).set(ConditionalNode {
                condition: node.condition.handle,
                kind: node.kind as u32,
                size: node.bodies.len() as u32,
                graphs: In::new(node.handles().as_ptr()),
                context: node.condition.context,
            });
        }
    };
    match operation {
        Operation::Launch { .. } => member(out).set(parameters_of_v2(handle)?),
        Operation::Copy(transfer) => {
            let copy = description_of(&transfer);
            member(out).set(CopyNode { flags: 0, reserved: 0, context: 0, copy })
        }
        Operation::Fill(fill) => member(out).set(description_of_fill(&fill)),
        Operation::Host { function, data } => member(out).set(HostNode { function, data }),
        Operation::WaitForEvent(event) | Operation::Record(event) => member(out).set(event.handle),
        Operation::Memory(GraphMemory::Allocate { address, size, device }) => {
            member(out).set(AllocationNode::pinned_on(address, size, device))
        }
        Operation::Memory(GraphMemory::Free(address)) => member(out).set(address),
        Operation::NoOp => Ok(()),
        _ => Err(Code::NOT_SUPPORTED
            .because("the node is a host library's work, which has no parameters")),
    }
}

export! {
    12020 fn cuGraphAddNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, node: Out<AnyNode>,
    ) {
        add_any(NewNode { out, graph, after, count }, node)
    }

    12030 fn cuGraphAddNode_v2(
        out: Out<Handle>, graph: Handle, after: In<Handle>, _edges: In<u64>, count: usize,
        node: Out<AnyNode>,
    ) {
        add_any(NewNode { out, graph, after, count }, node)
    }

    12020 fn cuGraphNodeSetParams(node: Handle, parameters: Out<AnyNode>) {
        match child(parameters)? {
            Some(child) => set_child(node, child),
            None => set(node, operation(parameters)?),
        }
    }

    13020 fn cuGraphNodeGetParams(node: Handle, parameters as required: Out<AnyNode>) {
        describe(node, parameters)
    }

    12020 fn cuGraphExecNodeSetParams(graph: Handle, node: Handle, parameters: Out<AnyNode>) {
        match child(parameters)? {
            Some(child) => set_child_in(graph, node, child),
            None => set_in_executable(graph, node, operation(parameters)?),
        }
    }

    12030 fn cuGraphConditionalHandleCreate(
        out as required: Out<u64>, graph: Handle, context: Handle, default: u32, flags: u32,
    ) {
        fail_if!(flags & !ASSIGN_DEFAULT != 0, INVALID_VALUE, "unknown flags {flags:#x} of a conditional handle");
        let graph = driver()?.graph(graph)?;
        let default = (flags & ASSIGN_DEFAULT != 0).then_some(default);
        out.set(graph.create_condition(context_of(context)?, default))
    }
}

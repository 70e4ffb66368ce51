//! Replacing the graph of a child-graph node.

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::api::driver::driver;
use crate::api::graph::executable;
use crate::api::graph::nodes::graph_of;
use crate::graph::{Child, Content};

/// Replaces the graph of a child-graph node by a copy of another graph.
///
/// # Errors
/// `INVALID_VALUE` if a handle is unknown, or the node is of another type; otherwise the errors of [`Child::copy_of`].
pub(crate) fn set_child(node: Handle, graph: Handle) -> Result {
    let (outer, graph) = (graph_of(node)?, driver()?.graph(graph)?);
    let new = Child::copy_of(&graph, &outer)?;
    let old = outer.with_node(node, |node| match &mut node.content {
        Content::Child(child) => Ok(std::mem::replace(child, new)),
        _ => Err(Code::INVALID_VALUE.because("the node is of another type")),
    })?;
    old.unregister();
    Ok(())
}

/// Replaces the child graph of a node in an executable graph; the new graph must have the same
/// topology.
///
/// # Errors
/// `INVALID_VALUE` if a handle is unknown or the topology differs.
pub(crate) fn set_child_in(executable_graph: Handle, node: Handle, graph: Handle) -> Result {
    let graph = driver()?.graph(graph)?;
    executable(executable_graph)?.update_child(node, &graph)
}

export! {
    11010 fn cuGraphExecChildGraphNodeSetParams(graph: Handle, node: Handle, child: Handle) {
        set_child_in(graph, node, child)
    }
}

//! Graphs that take the place of those inside nodes.

use crate::abi::Handle;
use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::api::driver::driver;
use crate::api::graph::executable;
use crate::api::graph::nodes::graph_of;
use crate::graph::{Child, Content};

/// A copy of another graph is inside a node from now on.
///
/// # Errors
/// `INVALID_VALUE`, `OUT_OF_MEMORY`.
pub(crate) fn set_child(node: Handle, graph: Handle) -> Result {
    let (outer, graph) = (graph_of(node)?, driver()?.graph(graph)?);
    let new = Child::copy_of(&graph, &outer)?;
    let old = outer.with(node, |node| match &mut node.content {
        Content::Child(child) => Ok(std::mem::replace(child, new)),
        _ => Err(Code::INVALID_VALUE.because("the node is of another type")),
    })?;
    old.forget();
    Ok(())
}

/// The same in an executable graph, for a graph of the same shape.
///
/// # Errors
/// `INVALID_VALUE`
pub(crate) fn set_child_in(executable_graph: Handle, node: Handle, graph: Handle) -> Result {
    let graph = driver()?.graph(graph)?;
    executable(executable_graph)?.update_child(node, &graph)
}

export! {
    11010 fn cuGraphExecChildGraphNodeSetParams(graph: Handle, node: Handle, child: Handle) {
        set_child_in(graph, node, child)
    }
}

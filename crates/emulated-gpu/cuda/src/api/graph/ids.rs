//! The numeric ids of graphs and nodes, which tools and drawings of graphs show. They are unique across all graphs,
//! because they are computed from the handles, and no handle is used twice.

use crate::abi::error::Result;
use crate::abi::ffi::export;
use crate::abi::registry::ordinal;
use crate::abi::{Handle, Out};
use crate::api::driver::driver;
use crate::api::graph::executable;
use crate::api::graph::nodes::graph_of;

/// The id of a node that is in a graph.
fn node(node: Handle) -> Result<u32> {
    graph_of(node)?;
    Ok(ordinal(node))
}

export! {
    13010 fn cuGraphGetId(graph: Handle, id as required: Out<u32>) {
        id.set(ordinal(driver()?.graph(graph)?.handle))
    }

    13010 fn cuGraphExecGetId(graph: Handle, id as required: Out<u32>) {
        executable(graph)?;
        id.set(ordinal(graph))
    }

    13010 fn cuGraphNodeGetLocalId(handle: Handle, id as required: Out<u32>) {
        id.set(node(handle)?)
    }

    13010 fn cuGraphNodeGetToolsId(handle: Handle, id as required: Out<u64>) {
        id.set(node(handle)?.into())
    }

    13010 fn cuGraphNodeGetContainingGraph(handle: Handle, graph as required: Out<Handle>) {
        graph.set(graph_of(handle)?.handle)
    }
}

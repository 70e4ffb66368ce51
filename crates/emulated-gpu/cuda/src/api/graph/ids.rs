//! The numbers of graphs and of their nodes, by which tools and pictures of graphs name them. No two of a kind
//! ever have the same one, in whatever graph they are: they follow from the handles, of which each is given out once.

use crate::abi::error::Result;
use crate::abi::ffi::export;
use crate::abi::registry::number;
use crate::abi::{Handle, Out};
use crate::api::driver::driver;
use crate::api::graph::executable;
use crate::api::graph::nodes::graph_of;

/// The number of a node that is in a graph.
fn node(node: Handle) -> Result<u32> {
    graph_of(node)?;
    Ok(number(node))
}

export! {
    13010 fn cuGraphGetId(graph: Handle, id as required: Out<u32>) {
        id.set(number(driver()?.graph(graph)?.handle))
    }

    13010 fn cuGraphExecGetId(graph: Handle, id as required: Out<u32>) {
        executable(graph)?;
        id.set(number(graph))
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

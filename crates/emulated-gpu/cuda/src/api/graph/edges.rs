//! The topology of graphs: nodes and edges.

use crate::abi::error::{Result, fail_if};
use crate::abi::ffi::export;
use crate::abi::{Handle, In, List, Out};
use crate::api::driver::driver;
use crate::api::graph::nodes::graph_of;

/// Writes the number of handles if `out` is null, otherwise as many handles as fit.
unsafe fn list(all: &[Handle], out: Out<Handle>, count: Out<usize>) -> Result {
    if out.is_null() {
        return count.set(all.len());
    }
    let space = count.get()?;
    // Unused slots are set to null, and `count` to the number of handles written.
    out.set_all((0..space).map(|index| all.get(index).copied().unwrap_or(0)));
    count.set(all.len().min(space))
}

unsafe fn edges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) -> Result {
    let graph = driver()?.graph(graph)?;
    let nodes = graph.nodes();
    let all = nodes.iter().flat_map(|node| node.dependencies().map(|before| (before, node.handle)));
    let (before, dependents): (Vec<Handle>, Vec<Handle>) = all.unzip();
    drop(nodes);
    fail_if!(from.is_null() != to.is_null(), INVALID_VALUE, "one of the two lists is null");
    if from.is_null() {
        return count.set(before.len());
    }
    let space = count.get()?;
    list(&before, from, count)?;
    count.set(space)?;
    list(&dependents, to, count)
}

unsafe fn dependencies(node: Handle, out: Out<Handle>, count: Out<usize>) -> Result {
    let after: Vec<Handle> =
        graph_of(node)?.with_node(node, |node| Ok(node.dependencies().collect()))?;
    list(&after, out, count)
}

unsafe fn dependents(node: Handle, out: Out<Handle>, count: Out<usize>) -> Result {
    let dependents: Vec<Handle> =
        graph_of(node)?.with_node(node, |node| Ok(node.dependents().collect()))?;
    list(&dependents, out, count)
}

/// Adds or removes all edges; if one fails, none is changed.
unsafe fn change_edges(
    graph: Handle,
    from: In<Handle>,
    to: In<Handle>,
    count: usize,
    add: bool,
) -> Result {
    let graph = driver()?.graph(graph)?;
    let edges: Vec<_> = from.list(count)?.into_iter().zip(to.list(count)?).collect();
    let mut nodes = graph.nodes();
    let mut set = |(before, after), add| match add {
        true => nodes.connect(before, after),
        false => nodes.disconnect(before, after),
    };
    for (changed, edge) in edges.iter().enumerate() {
        if let Err(error) = set(*edge, add) {
            // Undo the changes made so far.
            edges.iter().take(changed).rev().try_for_each(|edge| set(*edge, !add))?;
            return Err(error);
        }
    }
    Ok(())
}

export! {
    10000 fn cuGraphGetNodes(graph: Handle, out: Out<Handle>, count: Out<usize>) {
        let graph = driver()?.graph(graph)?;
        let all: Vec<Handle> = graph.nodes().iter().map(|node| node.handle).collect();
        list(&all, out, count)
    }

    10000 fn cuGraphGetRootNodes(graph: Handle, out: Out<Handle>, count: Out<usize>) {
        let graph = driver()?.graph(graph)?;
        let nodes = graph.nodes();
        let roots = nodes.iter().filter(|node| node.dependencies().len() == 0);
        let roots: Vec<Handle> = roots.map(|node| node.handle).collect();
        drop(nodes);
        list(&roots, out, count)
    }

    10000 fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        edges(graph, from, to, count)
    }

    12030 fn cuGraphGetEdges_v2(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        edges(graph, from, to, count)?;
        clear(from, data, count)
    }

    10000 fn cuGraphNodeGetDependencies(node: Handle, out: Out<Handle>, count: Out<usize>) {
        dependencies(node, out, count)
    }

    12030 fn cuGraphNodeGetDependencies_v2(
        node: Handle, out: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        dependencies(node, out, count)?;
        clear(out, data, count)
    }

    10000 fn cuGraphNodeGetDependentNodes(node: Handle, out: Out<Handle>, count: Out<usize>) {
        dependents(node, out, count)
    }

    12030 fn cuGraphNodeGetDependentNodes_v2(
        node: Handle, out: Out<Handle>, data: Out<u64>, count: Out<usize>,
    ) {
        dependents(node, out, count)?;
        clear(out, data, count)
    }

    10000 fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        change_edges(graph, from, to, count, true)
    }

    12030 fn cuGraphAddDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _data: In<u64>, count: usize,
    ) {
        change_edges(graph, from, to, count, true)
    }

    10000 fn cuGraphRemoveDependencies(
        graph: Handle, from: In<Handle>, to: In<Handle>, count: usize,
    ) {
        change_edges(graph, from, to, count, false)
    }

    12030 fn cuGraphRemoveDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, _data: In<u64>, count: usize,
    ) {
        change_edges(graph, from, to, count, false)
    }
}

/// Clears the edge data (`CUgraphEdgeData`, 8 bytes), because all edges are plain dependencies.
unsafe fn clear(asked: Out<Handle>, data: Out<u64>, count: Out<usize>) -> Result {
    if !asked.is_null() && !data.is_null() {
        data.set_all((0..count.get()?).map(|_| 0));
    }
    Ok(())
}

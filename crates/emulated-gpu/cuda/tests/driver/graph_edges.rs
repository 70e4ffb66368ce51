//! Adding and removing single edges of graphs.

use crate::support::{code, cu, ok, output, own_context};

fn node(graph: usize, after: &[usize]) -> usize {
    output!(cuGraphAddEmptyNode(-> usize, graph, after.as_ptr(), after.len()))
}

fn change(graph: usize, edges: &[(usize, usize)], add: bool) -> u32 {
    let (from, to): (Vec<usize>, Vec<usize>) = edges.iter().copied().unzip();
    let (from, to, count) = (from.as_ptr(), to.as_ptr(), edges.len());
    if add {
        cu!(cuGraphAddDependencies(graph, from, to, count))
    } else {
        cu!(cuGraphRemoveDependencies(graph, from, to, count))
    }
}

fn edges(graph: usize) -> Vec<(usize, usize)> {
    let mut count = 64usize;
    let (mut from, mut to) = (vec![0usize; count], vec![0usize; count]);
    ok!(cuGraphGetEdges(graph, from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count));
    from.into_iter().zip(to).take(count).collect()
}

fn dependents(node: usize) -> Vec<usize> {
    let mut count = 8usize;
    let mut list = vec![0usize; count];
    ok!(cuGraphNodeGetDependentNodes(node, list.as_mut_ptr(), &raw mut count));
    list.truncate(count);
    list
}

#[test]
fn all_edges_of_a_call_are_changed_or_none() {
    let _context = own_context();
    let graph = output!(cuGraphCreate(-> usize, 0u32));
    let n: Vec<usize> = (0..4).map(|_| node(graph, &[])).collect();
    let (ab, bc, cd, da) = ((n[0], n[1]), (n[1], n[2]), (n[2], n[3]), (n[3], n[0]));
    for wrong in [vec![ab, bc, cd, da], vec![ab, ab], vec![ab, (n[0], 7)], vec![ab, (n[1], n[1])]] {
        assert_eq!(change(graph, &wrong, true), code::INVALID_VALUE);
        assert_eq!(edges(graph), []);
    }
    assert_eq!(change(graph, &[ab, bc, cd], true), 0);
    assert_eq!(change(graph, &[cd, bc, da], false), code::INVALID_VALUE);
    let mut left = edges(graph);
    left.sort_unstable();
    assert_eq!(left, [ab, bc, cd]);
    assert_eq!((dependents(n[1]), dependents(n[3])), (vec![n[2]], vec![]));
    ok!(cuGraphDestroyNode(n[1] => usize));
    assert_eq!((edges(graph), dependents(n[0])), (vec![cd], vec![]));
    ok!(cuGraphDestroy(graph));
}

/// Builds a graph with a fifth of the maximum number of nodes. If each call visited all nodes, this would take about
/// 10^10 steps; the unit tests of `graph::nodes` count them.
#[test]
fn large_graphs_are_built_changed_and_launched() {
    const COUNT: usize = 50_000;
    let _context = own_context();
    let graph = output!(cuGraphCreate(-> usize, 0u32));
    let mut nodes: Vec<usize> = Vec::with_capacity(COUNT);
    for number in 0..COUNT {
        let after: Vec<usize> =
            nodes.last().copied().filter(|_| number % 2 == 1).into_iter().collect();
        nodes.push(node(graph, &after));
    }
    for at in (1..COUNT - 1).step_by(2) {
        assert_eq!(change(graph, &[(nodes[at], nodes[at + 1])], true), 0);
    }
    let last = node(graph, &nodes);
    assert_eq!(change(graph, &[(last, nodes[0])], true), code::INVALID_VALUE);
    let executable = output!(cuGraphInstantiateWithFlags(-> usize, graph, 0u64));
    ok!(cuGraphLaunch(executable, 0usize));
    ok!(cuCtxSynchronize());
    ok!(cuGraphExecDestroy(executable));
    for node in nodes {
        ok!(cuGraphDestroyNode(node));
    }
    assert_eq!(edges(graph), []);
    ok!(cuGraphDestroy(graph));
}

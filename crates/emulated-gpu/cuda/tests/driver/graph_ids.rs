//! The numeric ids of graphs and nodes.

use crate::support::{code, cu, ok, output, own_context};

fn graph() -> usize {
    output!(cuGraphCreate(-> usize, 0u32))
}

fn empty(graph: usize) -> usize {
    let (mut node, none) = (0usize, std::ptr::null::<usize>());
    ok!(cuGraphAddEmptyNode(&raw mut node, graph, none, 0usize));
    node
}

#[test]
fn graphs_and_nodes_have_unique_ids() {
    let _context = own_context();
    let (first, second) = (graph(), graph());
    let nodes = [empty(first), empty(first), empty(second)];
    let id = |graph: usize| output!(cuGraphGetId(graph, -> u32));
    assert!(id(first) > 0 && id(first) != id(second) && id(first) == id(first));
    let ids = nodes.map(|node| {
        let local = output!(cuGraphNodeGetLocalId(node, -> u32));
        let tools = output!(cuGraphNodeGetToolsId(node, -> u64));
        let graph = output!(cuGraphNodeGetContainingGraph(node, -> usize));
        (local, tools, graph)
    });
    assert_eq!(ids.map(|(_, _, graph)| graph), [first, first, second]);
    assert!(ids[0].0 != ids[1].0 && ids[0].1 != ids[1].1);
    assert!(ids[1].1 != ids[2].1);
    let executables = [0; 2].map(|_: i32| {
        let ready = output!(cuGraphInstantiateWithFlags(-> usize, first, 0u64));
        let id = output!(cuGraphExecGetId(ready, -> u32));
        ok!(cuGraphExecDestroy(ready));
        id
    });
    assert!(executables[0] > 0 && executables[0] != executables[1]);
    ok!(cuGraphDestroyNode(nodes[0]));
    let mut local = 0u32;
    let gone = cu!(cuGraphNodeGetLocalId(nodes[0], &raw mut local));
    let unknown = cu!(cuGraphGetId(1usize, &raw mut local));
    assert_eq!([gone, unknown], [code::INVALID_VALUE; 2]);
    ok!(cuGraphDestroy(first));
    ok!(cuGraphDestroy(second));
}
